#include "fake/device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "protocol/ranges.h"

namespace gpucast::fake {
namespace {

using support::Descriptor;

constexpr std::size_t page = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

// The content of an IPC handle: which file holds the memory. The file's number tells whether
// another file has taken its place.
struct Shared {
  std::uint64_t magic = 0x656b6146;
  std::int64_t process = 0;
  std::int64_t file = 0;
  std::uint64_t file_id = 0;
};

// Returns an empty descriptor where the system has no more of them; such memory is not shared.
Descriptor memory_file(std::size_t bytes) {
  Descriptor file(memfd_create("fake-gpu", MFD_CLOEXEC));
  if (file && ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) file.reset();
  return file;
}

}  // namespace

Device::Device(const Settings& settings) : settings_(settings), next_(settings.base) {}

Device::~Device() {
  queues_.wait_for_all();
  for (const auto* memories : {&allocations_, &opened_})
    for (const auto& [address, memory] : *memories)
      unmap(address, memory);
}

CUresult Device::allocate(CUdeviceptr& address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > settings_.memory - used_) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t whole = whole_pages(settings_.lead + bytes);
  const CUresult status =
      map(address, {.bytes = bytes, .lead = settings_.lead, .file = memory_file(whole)}, next_);
  if (next_ != 0) next_ += whole;
  return status;
}

CUresult Device::reserve(CUdeviceptr& address, std::size_t bytes, CUdeviceptr at) {
  const std::lock_guard lock(mutex_);
  return map(address, {.bytes = bytes}, at);
}

CUresult Device::map(CUdeviceptr& address, Memory memory, CUdeviceptr at) {
  const int kind =
      memory.file ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const std::size_t whole = whole_pages(memory.lead + memory.bytes);
  void* got = MAP_FAILED;
  if (at != 0) {
    got = mmap(reinterpret_cast<void*>(at), whole, PROT_READ | PROT_WRITE,
               kind | MAP_FIXED_NOREPLACE, memory.file.get(), 0);
  }
  if (got == MAP_FAILED)
    got = mmap(nullptr, whole, PROT_READ | PROT_WRITE, kind, memory.file.get(), 0);
  if (got == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  address = reinterpret_cast<CUdeviceptr>(got) + memory.lead;
  used_ += memory.bytes;
  allocations_[address] = std::move(memory);
  return CUDA_SUCCESS;
}

void Device::unmap(CUdeviceptr address, const Memory& memory) {
  munmap(reinterpret_cast<void*>(address - memory.lead), whole_pages(memory.lead + memory.bytes));
}

CUresult Device::free(CUdeviceptr address) {
  queues_.wait_for_all();
  return release(address);
}

CUresult Device::release(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto entry = allocations_.find(address);
  if (entry == allocations_.end()) return CUDA_ERROR_INVALID_VALUE;
  const Memory& memory = entry->second;
  // Overwrites the content, so that a process that still has the file open does not find the old
  // data.
  constexpr int garbage = 0xdd;
  if (memory.shared) std::memset(reinterpret_cast<void*>(address), garbage, memory.bytes);
  unmap(address, memory);
  used_ -= memory.bytes;
  allocations_.erase(entry);
  return CUDA_SUCCESS;
}

void Device::adopt(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  adopted_[address] = {.bytes = bytes};
}

bool Device::holds(CUdeviceptr address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto holds = [&](const Memories& memories) {
    return remote::holder(memories, address, bytes) != memories.end();
  };
  return holds(allocations_) || holds(adopted_) || holds(opened_);
}

CUresult Device::range(CUdeviceptr& begin, std::size_t& bytes, CUdeviceptr address) const {
  const std::lock_guard lock(mutex_);
  const auto entry = remote::holder(allocations_, address, 1);
  if (entry == allocations_.end()) return CUDA_ERROR_INVALID_VALUE;
  begin = entry->first - entry->second.lead;
  bytes = entry->second.lead + entry->second.bytes;
  return CUDA_SUCCESS;
}

CUresult Device::share(CUipcMemHandle& handle, CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto entry = allocations_.find(address);
  if (entry == allocations_.end() || !entry->second.file) return CUDA_ERROR_INVALID_VALUE;
  struct stat facts{};
  if (fstat(entry->second.file.get(), &facts) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
  entry->second.shared = true;
  const Shared told{.process = getpid(), .file = entry->second.file.get(), .file_id = facts.st_ino};
  handle = {};
  static_assert(sizeof told <= sizeof handle.reserved);
  std::memcpy(handle.reserved, &told, sizeof told);
  return CUDA_SUCCESS;
}

CUresult Device::open(CUdeviceptr& address, const CUipcMemHandle& handle) {
  const std::lock_guard lock(mutex_);
  Shared told{.magic = 0};
  std::memcpy(&told, handle.reserved, sizeof told);
  if (told.magic != Shared{}.magic) return CUDA_ERROR_INVALID_VALUE;
  if (told.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  for (const auto& [begin, memory] : opened_)
    if (memory.file_id == told.file_id) return CUDA_ERROR_ALREADY_MAPPED;
  const std::string name =
      "/proc/" + std::to_string(told.process) + "/fd/" + std::to_string(told.file);
  const Descriptor file(::open(name.c_str(), O_RDWR | O_CLOEXEC));
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0 || facts.st_ino != told.file_id)
    return CUDA_ERROR_MAP_FAILED;
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (got == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
  address = reinterpret_cast<CUdeviceptr>(got);
  opened_[address] = {.bytes = bytes, .file_id = told.file_id};
  return CUDA_SUCCESS;
}

CUresult Device::close(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto entry = opened_.find(address);
  if (entry == opened_.end()) return CUDA_ERROR_INVALID_VALUE;
  unmap(address, entry->second);
  opened_.erase(entry);
  return CUDA_SUCCESS;
}

std::size_t Device::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return settings_.memory - used_;
}

}  // namespace gpucast::fake

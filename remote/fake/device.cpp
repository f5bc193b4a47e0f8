#include "fake/device.h"

#include <sys/mman.h>

#include <exception>

namespace gpucast::fake {
namespace {

constexpr std::size_t page = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

}  // namespace

Device::Device(const Settings& settings)
    : settings_(settings), next_(settings.base), thread_([this] { run(); }) {}

Device::~Device() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
  for (const auto& [address, bytes] : allocations_)
    munmap(reinterpret_cast<void*>(address), whole_pages(bytes));
}

CUresult Device::allocate(CUdeviceptr& address, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > settings_.memory - used_) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult status = reserve(address, bytes, next_);
  if (next_ != 0) next_ += whole_pages(bytes);
  return status;
}

CUresult Device::reserve(CUdeviceptr& address, std::size_t bytes, CUdeviceptr at) {
  const std::lock_guard lock(mutex_);
  constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* got = MAP_FAILED;
  if (at != 0) {
    got = mmap(reinterpret_cast<void*>(at), whole_pages(bytes), PROT_READ | PROT_WRITE,
               kind | MAP_FIXED_NOREPLACE, -1, 0);
  }
  if (got == MAP_FAILED) {
    got = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, kind, -1, 0);
  }
  if (got == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  address = reinterpret_cast<CUdeviceptr>(got);
  allocations_[address] = bytes;
  used_ += bytes;
  return CUDA_SUCCESS;
}

CUresult Device::free(CUdeviceptr address) {
  wait_for_all();
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(address), whole_pages(found->second));
  used_ -= found->second;
  allocations_.erase(found);
  return CUDA_SUCCESS;
}

void Device::adopt(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  adopted_[address] = bytes;
}

bool Device::holds(CUdeviceptr address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  for (const auto* each : {&allocations_, &adopted_}) {
    auto found = each->upper_bound(address);
    if (found == each->begin()) continue;
    --found;
    const std::size_t offset = address - found->first;
    if (offset <= found->second && bytes <= found->second - offset) return true;
  }
  return false;
}

std::size_t Device::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return settings_.memory - used_;
}

std::uint64_t Device::queue(std::function<void()> operation) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(operation));
  changed_.notify_all();
  return ++queued_;
}

bool Device::done(std::uint64_t operation) const {
  const std::lock_guard lock(mutex_);
  return done_ >= operation;
}

void Device::wait(std::uint64_t operation) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= operation; });
}

void Device::wait_for_all() {
  std::unique_lock lock(mutex_);
  const std::uint64_t all = queued_;
  changed_.wait(lock, [&] { return done_ >= all; });
}

CUresult Device::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Device::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto operation = std::move(queue_.front());
    queue_.pop_front();
    if (failure_ == CUDA_SUCCESS) {
      lock.unlock();
      CUresult status = CUDA_SUCCESS;
      try {
        operation();
      } catch (const std::exception&) {
        status = CUDA_ERROR_ILLEGAL_ADDRESS;
      }
      lock.lock();
      failure_ = status;
    }
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace gpucast::fake

#include "server/segments.h"

#include <unistd.h>

#include <utility>

namespace gpucast::remote::server {
namespace {

std::uint64_t half_of_all() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

}  // namespace

Segments::Segments(const Driver& driver, std::uint64_t most_bytes)
    : driver_(driver), most_bytes_(most_bytes == 0 ? half_of_all() : most_bytes) {}

void Segments::add(Id id, SharedMemory memory) {
  if (driver_.cuMemHostRegister == nullptr || driver_.cuMemHostUnregister == nullptr)
    throw DriverError(CUDA_ERROR_NOT_SUPPORTED);
  const std::size_t bytes = memory.bytes().size();
  if (segments_.size() >= most_segments || bytes > most_bytes_ - bytes_)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  if (segments_.contains(id)) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  check(driver_.cuMemHostRegister(memory.bytes().data(), bytes, CU_MEMHOSTREGISTER_PORTABLE));
  memory.close_file();
  segments_.emplace(id, std::move(memory));
  bytes_ += bytes;
}

void Segments::remove(Id id) {
  const auto found = segments_.find(id);
  if (found == segments_.end()) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  const std::span<std::byte> bytes = found->second.bytes();
  check(driver_.cuMemHostUnregister(bytes.data()));
  bytes_ -= bytes.size();
  segments_.erase(found);
}

std::byte* Segments::find(Id id, std::uint64_t offset, std::uint64_t bytes) const {
  const auto found = segments_.find(id);
  if (found == segments_.end()) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  const std::span<std::byte> all = found->second.bytes();
  if (offset > all.size() || bytes > all.size() - offset)
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return all.data() + offset;
}

}  // namespace gpucast::remote::server

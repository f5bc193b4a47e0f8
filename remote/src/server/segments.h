// The client's pinned memory that is shared with this process: registered with the driver, so that
// the GPU's copy engines access it directly.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "protocol/calls.h"
#include "server/driver.h"
#include "transport/shared_memory.h"

namespace gpucast::remote::server {

class Segments {
 public:
  // The limit of all segments together in bytes; 0: half of this host's memory.
  Segments(const Driver& driver, std::uint64_t most_bytes)
      : driver_(driver), most_bytes_(most_bytes == 0 ? half_of_all() : most_bytes) {}

  // Throws DriverError if a limit is exceeded, the id is in use, or the driver refuses.
  void add(Id id, SharedMemory memory) {
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
  // Throws DriverError if there is none; nothing may use it any more.
  void remove(Id id) {
    const std::span<std::byte> bytes = named(segments_, id).bytes();
    check(driver_.cuMemHostUnregister(bytes.data()));
    bytes_ -= bytes.size();
    segments_.erase(id);
  }
  // Throws DriverError unless the whole range lies within the segment.
  std::byte* find(Id id, std::uint64_t offset, std::uint64_t bytes) const {
    const std::span<std::byte> all = named(segments_, id).bytes();
    if (offset > all.size() || bytes > all.size() - offset)
      throw DriverError(CUDA_ERROR_INVALID_VALUE);
    return all.data() + offset;
  }

 private:
  static constexpr std::size_t most_segments = 8192;
  static std::uint64_t half_of_all() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
  }

  const Driver& driver_;
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::map<Id, SharedMemory> segments_;
};

}  // namespace gpucast::remote::server

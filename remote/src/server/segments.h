// The client's pinned memory where it lies in memory that this process has, too: registered with
// the driver, so that the GPU's copy engines read and write it, and nobody copies it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "protocol/calls.h"
#include "server/driver.h"
#include "transport/shared_memory.h"

namespace gpucast::remote::server {

class Segments {
 public:
  // Bytes of all together; 0: half of this host's memory.
  Segments(const Driver& driver, std::uint64_t most_bytes);

  // DriverError where it is one too many or too much, the id is taken, or the driver refuses.
  void add(Id id, SharedMemory memory);
  // DriverError where there is none; nothing uses it any more.
  void remove(Id id);
  // DriverError unless all of it lies within the segment.
  std::byte* find(Id id, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  static constexpr std::size_t most_segments = 8192;

  const Driver& driver_;
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::map<Id, SharedMemory> segments_;
};

}  // namespace gpucast::remote::server

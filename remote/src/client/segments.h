// Pinned host memory that is shared with servers of this host: their GPUs read and write the data
// of copies in place.
//
// Small allocations are parts of larger segments, since a server accepts only a few segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "protocol/calls.h"
#include "transport/shared_memory.h"

namespace gpucast::remote::client {

class Gpu;

// The position of memory as a server knows it.
struct Place {
  Id segment = 0;
  std::uint64_t offset = 0;
};

class Segments {
 public:
  using Gpus = std::vector<std::unique_ptr<Gpu>>;

  explicit Segments(const Gpus& gpus) : gpus_(gpus) {}

  // Allocates memory of whole pages; nullptr if no server accepts it, or none is left.
  void* allocate(std::size_t bytes);
  // To be called when no copy uses it. Returns false if it is not such memory.
  bool free(void* memory);
  // Finds the memory for the device's server; nothing if the server does not share all of it.
  std::optional<Place> find(int device, const void* memory, std::size_t bytes) const;

 private:
  struct Segment {
    Id id = 0;
    SharedMemory memory = {};
    std::size_t bytes = 0;
    std::vector<bool> has = {};                     // by device
    std::map<std::size_t, std::size_t> parts = {};  // bytes in use, by offset
    bool is_shared = false;                         // between several allocations
  };
  using BySegment = std::map<Address, Segment>;  // by address

  BySegment::iterator add(std::size_t bytes);
  static void* take(Segment& segment, std::size_t bytes);

  const Gpus& gpus_;
  std::mutex changing_;
  mutable std::shared_mutex mutex_;
  BySegment segments_;
  Id last_ = 0;
};

}  // namespace gpucast::remote::client

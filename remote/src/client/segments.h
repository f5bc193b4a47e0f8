// Pinned host memory that servers of this host have, too: what a copy moves lies where their GPUs
// read and write it.
//
// Small pieces are parts of larger segments, as a server takes only a few of those.
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

// Where memory lies for a server.
struct Place {
  Id segment = 0;
  std::uint64_t offset = 0;
};

class Segments {
 public:
  using Gpus = std::vector<std::unique_ptr<Gpu>>;

  // Memory of whole pages; nullptr where none of the servers takes it, or there is none.
  void* allocate(std::size_t bytes, const Gpus& gpus);
  // No copy uses it any more. False where it is none of these.
  bool free(void* memory, const Gpus& gpus);
  // For the server of the device; nothing where that one does not have all of it.
  std::optional<Place> find(int device, const void* memory, std::size_t bytes) const;

 private:
  struct Segment {
    Id id = 0;
    SharedMemory memory = {};
    std::size_t bytes = 0;
    std::vector<bool> has = {};                     // by device
    std::map<std::size_t, std::size_t> parts = {};  // bytes in use, by their beginning
    bool is_shared = false;                         // by several allocations
  };
  using BySegment = std::map<Address, Segment>;  // by where it begins

  BySegment::iterator add(std::size_t bytes, const Gpus& gpus);
  static void* take(Segment& segment, std::size_t bytes);

  std::mutex changing_;
  mutable std::shared_mutex mutex_;
  BySegment segments_;
  Id last_ = 0;
};

}  // namespace gpucast::remote::client

// Buffers on the host and on GPUs, kept between measurements: to pin a gigabyte takes a second.
#pragma once

#include <cuda_runtime.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpucast/records/records.h"

namespace gpucast::microbench::cuda {

class Buffer {
 public:
  Buffer() = default;  // of nothing
  Buffer(std::shared_ptr<void> memory, std::size_t bytes, bool on_gpu)
      : memory_(std::move(memory)), bytes_(bytes), on_gpu_(on_gpu) {}

  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  bool on_gpu() const { return on_gpu_; }

  // The pattern that all of it holds, if it was filled and not written since.
  std::optional<std::uint32_t> seed = std::nullopt;

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
  bool on_gpu_ = false;
};

// What a buffer is for: sources keep what they hold, destinations are written; scratch is for the
// pool itself.
enum class Role { source, destination, scratch };

// Memory of the host that GPUs reach.
bool is_mapped(records::Memory memory);

// Memory of the host, near a GPU where the system says what is near, touched. Throws DeviceError or
// std::bad_alloc where there is not so much.
Buffer host_buffer(int device, records::Memory memory, std::size_t bytes);

// Where a buffer of the host was wanted, and where its first page lies; nothing: not known.
struct Placement {
  int device = 0;
  records::Memory memory = records::Memory::pinned;
  std::optional<int> wanted;
  std::optional<int> obtained;
};

class BufferPool {
 public:
  // `number` tells apart those in use together.
  Buffer& on_host(int device, records::Memory memory, Role role, std::size_t number,
                  std::size_t bytes);
  Buffer& on_gpu(int device, Role role, std::size_t number, std::size_t bytes);

  // The pattern of a seed in the first `bytes` of a buffer, written and looked for by a GPU: that
  // in which the buffer lies or, for the host's, any. CPUs may read write-combined memory sixty
  // times slower.
  void fill(Buffer& buffer, std::size_t bytes, std::uint32_t seed, int device);
  bool holds(const Buffer& buffer, std::size_t bytes, std::uint32_t seed, int device);

  // Where the first buffer of each kind near each GPU lies.
  const std::vector<Placement>& placements() const { return placements_; }

 private:
  struct Key {
    int node;    // of the host's memory
    int device;  // -1: the host
    records::Memory memory;
    Role role;
    std::size_t number;
    auto operator<=>(const Key&) const = default;
  };
  // Asked of the system once a device, not for each buffer.
  std::optional<int> node_near(int device);
  void note_placement(int device, records::Memory memory, const Buffer& buffer);

  std::map<Key, Buffer> buffers_;
  std::vector<Placement> placements_;
  std::map<int, std::optional<int>> nodes_;
};

}  // namespace gpucast::microbench::cuda

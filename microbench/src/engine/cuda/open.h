// What the CUDA engine opens, each from a source of its own, and what they share: buffers, kept
// between measurements (to pin a gigabyte takes a second), and streams.
#pragma once

#include <cuda_runtime.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/cuda/kernels.h"
#include "engine/engine.h"
#include "gpucast/devices/clock.h"
#include "gpucast/devices/cuda/resources.h"

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

// Streams of each GPU, used in turn. What a small copy or a kernel takes differs by some percent
// from one hardware queue to the next; a stream keeps its queue, and another run of the program
// gets another one. Samples that go round all of them say what to expect of any.
class StreamRing {
 public:
  explicit StreamRing(int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    for (std::size_t k = 0; k < size; ++k)
      streams_.push_back(Stream::independent());
  }
  // Streams less than `size` apart are different ones.
  cudaStream_t at(std::size_t turn) const { return streams_[turn % size].get(); }

  static constexpr std::size_t size = 32;  // what CUDA_DEVICE_MAX_CONNECTIONS may be

 private:
  std::vector<Stream> streams_;
};

class StreamRings {
 public:
  const StreamRing& of(int device) { return rings_.try_emplace(device, device).first->second; }

 private:
  std::map<int, StreamRing> rings_;
};

std::unique_ptr<CopySet> open_copies(BufferPool& pool, StreamRings& streams,
                                     std::span<const Copy> copies);
std::unique_ptr<Launches> open_launches(StreamRings& streams, int device, int arguments);
std::unique_ptr<Overlaps> open_overlaps(BufferPool& pool, int device, std::int64_t bytes);
std::unique_ptr<Skeleton> open_skeleton(BufferPool& pool, const StepShape& shape);
std::unique_ptr<TracedSteps> open_traced_steps(TracedProgram program);
std::unique_ptr<HostLoops> open_host_loops(int device, records::Memory memory, std::int64_t bytes);

// What measurements on GPUs rely on: gates that cannot hang, wrong bytes that are seen, memory that
// runs out without harm. `no_gates`: why there are none; empty where there are.
std::vector<SelfTest> self_tests(BufferPool& pool, int devices, const std::string& no_gates);

}  // namespace gpucast::microbench::cuda

// What the CUDA engine opens, each from a source of its own.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/cuda/memory.h"
#include "engine/engine.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::microbench::cuda {

// Streams of each GPU, used in turn. What a small copy or a kernel takes differs by some percent
// from one hardware queue to the next; a stream keeps its queue, and another run of the program
// gets another one. Samples that go round all of them say what to expect of any.
class StreamRing {
 public:
  explicit StreamRing(int device) {
    devices::cuda::check(cudaSetDevice(device), "cudaSetDevice");
    for (std::size_t k = 0; k < size; ++k)
      streams_.push_back(devices::cuda::Stream::independent());
  }
  // Streams less than `size` apart are different ones.
  cudaStream_t at(std::size_t turn) const { return streams_[turn % size].get(); }

  static constexpr std::size_t size = 32;  // what CUDA_DEVICE_MAX_CONNECTIONS may be

 private:
  std::vector<devices::cuda::Stream> streams_;
};

class StreamRings {
 public:
  const StreamRing& of(int device) { return rings_.try_emplace(device, device).first->second; }

 private:
  std::map<int, StreamRing> rings_;
};

// Copies of one set on GPUs.
std::unique_ptr<CopySet> open_copies(BufferPool& pool, StreamRings& streams,
                                     std::span<const Copy> copies);

// Empty kernels, and copies beside a kernel, on one GPU.
std::unique_ptr<Launches> open_launches(StreamRings& streams, int device, int arguments);
std::unique_ptr<Overlaps> open_overlaps(BufferPool& pool, int device, std::int64_t bytes);

// A step's communication on GPUs.
std::unique_ptr<Skeleton> open_skeleton(BufferPool& pool, const StepShape& shape);

// Steps of a traced program.
std::unique_ptr<TracedSteps> open_traced_steps(TracedProgram program);

// Loops over kinds of host memory, by a GPU and by the CPU.
std::unique_ptr<HostLoops> open_host_loops(int device, records::Memory memory, std::int64_t bytes);

// What measurements on GPUs rely on: gates that cannot hang, wrong bytes that are seen, memory that
// runs out without harm.
// `no_gates`: why there are none; empty where there are.
std::vector<SelfTest> self_tests(BufferPool& pool, int devices, const std::string& no_gates);

}  // namespace gpucast::microbench::cuda

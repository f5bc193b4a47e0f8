// Streams of each GPU, used in turn. What a small copy or a kernel takes differs by some percent
// from one hardware queue to the next; a stream keeps its queue, and another run of the program
// gets another one. Samples that go round all of them say what to expect of any.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <vector>

#include "gpucast/devices/cuda/check.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::microbench::cuda {

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

}  // namespace gpucast::microbench::cuda

#include "engine/cuda/streams.h"

#include "gpucast/devices/cuda/check.h"

namespace gpucast::microbench::cuda {

StreamRing::StreamRing(int device) {
  devices::cuda::check(cudaSetDevice(device), "cudaSetDevice");
  for (std::size_t k = 0; k < size; ++k)
    streams_.push_back(devices::cuda::Stream::independent());
}

const StreamRing& StreamRings::of(int device) {
  return rings_.try_emplace(device, device).first->second;
}

}  // namespace gpucast::microbench::cuda

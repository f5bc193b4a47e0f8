// The default stream's two meanings. A program compiled for per-thread default streams calls the
// entry points that take a stream by other names (_ptds, _ptsz), which CUDA's headers make of the
// usual ones where CUDA_API_PER_THREAD_DEFAULT_STREAM is defined. The sources that include this
// header are compiled once without it and once with it.
#pragma once

#include <driver_types.h>

namespace gpucast::remote::client {

// The stream that a handle means in this compilation.
static inline cudaStream_t own(cudaStream_t stream) {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  if (stream == nullptr) return cudaStreamPerThread;
#endif
  return stream;
}

}  // namespace gpucast::remote::client

// Errors, and what concerns no device.
#include <cuda_runtime_api.h>

#include <utility>

#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(this_thread().last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return this_thread().last_error; }
const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }
const char* cudaGetErrorString(cudaError_t error) { return error_text(error); }

cudaError_t cudaDriverGetVersion(int* version) {
  return entry<"cudaDriverGetVersion">(
      [&] { give(version, runtime().gpu(0).device().driver_version); });
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// Profilers see this process, which has no GPU.
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"

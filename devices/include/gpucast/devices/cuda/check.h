// Every CUDA call is checked.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "gpucast/devices/error.h"

namespace gpucast::devices::cuda {

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    cudaGetLastError();  // or the next launch would be blamed for it
    throw DeviceError(std::string(call) + ": " + cudaGetErrorString(status));
  }
}

}  // namespace gpucast::devices::cuda

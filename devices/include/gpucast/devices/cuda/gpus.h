// The GPUs of this machine, or those that the CUDA runtime presents, for machine records.
#pragma once

#include <cuda_runtime.h>

#include "gpucast/records/records.h"

namespace gpucast::devices::cuda {

// Returns the number of GPUs; 0, with the reason, if there are none or no driver.
int gpu_count(std::string& why_none);

int attribute(cudaDeviceAttr which, int device);
records::Gpu describe(int device);
// Describes the GPUs, with their links if NVML is available.
std::vector<records::Gpu> describe_all(int count);
// Returns why NVML is not available; empty if it is.
std::string why_no_nvml();

// "CUDA 13.0"
std::string driver_version();
std::string runtime_version();

// Returns the path to the GPUs, for records that name none: native, or remote with the client of
// remote GPUs: remote-sync if each call waits, remote-shm if shared memory carries all calls.
schema::Path path();

// Returns the transport of calls to remote GPUs, as the runtime of remote GPUs reports it; nothing
// if the GPUs are local, or reached in several ways.
std::optional<std::string> remote_transport();

}  // namespace gpucast::devices::cuda

// The GPUs of this machine, or whatever the CUDA runtime takes for them, for machine records.
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <string>
#include <vector>

#include "gpucast/records/records.h"
#include "gpucast/schema/vocabulary.h"

namespace gpucast::devices::cuda {

// How many there are; 0 with the reason where there are none or no driver.
int gpu_count(std::string& why_none);

int attribute(cudaDeviceAttr which, int device);
records::Gpu describe(int device);
// With their links, where NVML is there to ask.
std::vector<records::Gpu> describe_all(int count);
// Why NVML is not there to ask; empty where it is.
std::string why_no_nvml();

// "CUDA 13.0"
std::string driver_version();
std::string runtime_version();

// How the GPUs are reached, which is the path of records that name none: native, or remote over the
// client of remote GPUs: remote-sync where each call is waited for, remote-shm where shared memory
// carries all calls.
schema::Path path();

// What carries calls to the GPUs where they are remote, as the runtime of remote GPUs says it;
// nothing where they are local, or reached in several ways.
std::optional<std::string> remote_transport();

}  // namespace gpucast::devices::cuda

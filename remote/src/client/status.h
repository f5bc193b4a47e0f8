// Statuses that the client itself gives. A driver's status and a runtime's error are the same
// number where both exist.
#pragma once

#include <driver_types.h>

#include "protocol/calls.h"

namespace gpucast::remote::client {

inline constexpr Status status_lost = cudaErrorDevicesUnavailable;
inline constexpr Status status_no_host_memory = cudaErrorMemoryAllocation;
inline constexpr Status status_bad_memory = cudaErrorInvalidValue;
inline constexpr Status status_no_kernel = cudaErrorInvalidDeviceFunction;
inline constexpr Status status_bad_image = cudaErrorInvalidKernelImage;

// cudaErrorUnknown for numbers that the runtime does not have.
cudaError_t to_error(Status status);

// "cudaErrorInvalidValue", and a few words; both for ever.
const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

}  // namespace gpucast::remote::client

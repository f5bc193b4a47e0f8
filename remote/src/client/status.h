// Statuses that the client itself gives. A driver's status and a runtime's error are the same
// number where both exist.
#pragma once

#include <driver_types.h>

#include <exception>

#include "protocol/calls.h"

namespace gpucast::remote::client {

inline constexpr Status status_lost = cudaErrorDevicesUnavailable;
inline constexpr Status status_bad_memory = cudaErrorInvalidValue;
inline constexpr Status status_no_kernel = cudaErrorInvalidDeviceFunction;
inline constexpr Status status_bad_image = cudaErrorInvalidKernelImage;

// cudaErrorUnknown for numbers that the runtime does not have.
cudaError_t to_error(Status status);

// "cudaErrorInvalidValue", and a few words; both for ever.
const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

// A call that ends early.
class Failure : public std::exception {
 public:
  explicit Failure(cudaError_t its_error) : error(its_error) {}
  const char* what() const noexcept override { return error_text(error); }
  cudaError_t error;
};

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw Failure{error};
}
inline void require(Status status) {
  if (status != 0) throw Failure{to_error(status)};
}

}  // namespace gpucast::remote::client

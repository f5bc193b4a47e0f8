// Fields that several of the driver's parameters have in common, from what the client asks for.
#pragma once

#include <cstdint>

#include "protocol/calls.h"
#include "server/driver.h"

namespace gpucast::remote::server {

// The driver's name for a number that a client sends, where it is between these two; DriverError
// where it is not, as no other number is a value of the type.
template <class Name>
Name enumerator(std::int32_t number, Name first, Name last) {
  if (number < first || number > last) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return static_cast<Name>(number);
}

// Grid and shared memory, in CUlaunchConfig or CUDA_KERNEL_NODE_PARAMS.
template <class Parameters>
Parameters with_grid(const Launch& call) {
  Parameters result{};
  result.gridDimX = call.grid[0];
  result.gridDimY = call.grid[1];
  result.gridDimZ = call.grid[2];
  result.blockDimX = call.block[0];
  result.blockDimY = call.block[1];
  result.blockDimZ = call.block[2];
  result.sharedMemBytes = call.shared;
  return result;
}

// Rows within the device's memory, in CUDA_MEMCPY2D or CUDA_MEMCPY3D.
template <class Parameters>
Parameters with_rows(const CopyWithin& copy) {
  Parameters result{};  // NOLINT(bugprone-invalid-enum-default-initialization): set below
  result.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  result.srcDevice = copy.from;
  result.srcPitch = copy.from_pitch;
  result.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  result.dstDevice = copy.to;
  result.dstPitch = copy.to_pitch;
  result.WidthInBytes = copy.width;
  result.Height = copy.height;
  return result;
}

}  // namespace gpucast::remote::server

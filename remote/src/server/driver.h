// The CUDA driver, opened at run time, so that the server starts on a machine without one, and over
// a replacement.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "protocol/calls.h"

namespace gpucast::remote::server {

// Functions that are newer, or not on every system: null if missing. All other functions, which
// every driver since 12.0 has, are those that the server's sources call (CMakeLists.txt).
#define GPUCAST_DRIVER_OPTIONS(X)    \
  X(cuKernelGetParamInfo) /* 12.4 */ \
  X(cuMemHostRegister)               \
  X(cuMemHostUnregister)             \
  X(cuMemAddressReserve)             \
  X(cuMemAddressFree)                \
  X(cuMemCreate)                     \
  X(cuMemRelease)                    \
  X(cuMemMap)                        \
  X(cuMemUnmap)                      \
  X(cuMemSetAccess)                  \
  X(cuMemGetAllocationGranularity)   \
  X(cuMemGetAddressRange)            \
  X(cuIpcGetMemHandle)               \
  X(cuIpcOpenMemHandle)              \
  X(cuIpcCloseMemHandle)

struct Driver {
  // Throws std::runtime_error with one line if the library or a function is missing.
  explicit Driver(const std::string& file);
  ~Driver() = default;  // not closed: a driver's own threads may still run its code
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Names may be macros for a version (cuMemAlloc_v2), also in these members.
#define GPUCAST_DRIVER_FUNCTION(name) \
  decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
#include "server/driver_functions.inc"
  GPUCAST_DRIVER_OPTIONS(GPUCAST_DRIVER_FUNCTION)
#undef GPUCAST_DRIVER_FUNCTION
  decltype(&::cuEventElapsedTime) elapsed = nullptr;  // it has two names

  bool places_memory() const { return cuMemAddressReserve != nullptr && cuMemMap != nullptr; }
  bool shares_memory() const {
    return cuMemGetAddressRange != nullptr && cuIpcGetMemHandle != nullptr &&
           cuIpcOpenMemHandle != nullptr && cuIpcCloseMemHandle != nullptr;
  }
  // Throws DriverError, which names the call and the reason.
  void require(CUresult status, const char* call) const;
  // Returns the number of GPUs. Throws DriverError.
  int initialize() const;

 private:
  void* library_;
};

// Ends a call; the client receives the status.
class DriverError : public std::runtime_error {
 public:
  explicit DriverError(CUresult status, const std::string& text = "a call of the driver failed")
      : std::runtime_error(text), status_(status) {}
  CUresult status() const { return status_; }

 private:
  CUresult status_;
};

inline void check(CUresult status) {
  if (status != CUDA_SUCCESS) throw DriverError(status);
}

// Returns the status of the DriverError that the body throws, if any.
template <class Body>
CUresult status_of(Body body) {
  try {
    body();
    return CUDA_SUCCESS;
  } catch (const DriverError& error) {
    return error.status();
  }
}

// Finds the object that a client names. Throws DriverError if there is none.
template <class Map>
auto& named(Map& map, const typename Map::key_type& name) {
  const auto at = map.find(name);
  if (at == map.end()) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  return at->second;
}

// ---- driver parameters from the client's values ----

// Converts a client's number to the driver's enumeration. Throws DriverError if it is not between
// these two values, since the type has no others.
template <class Name>
Name enumerator(std::int32_t number, Name first, Name last) {
  if (number < first || number > last) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return static_cast<Name>(number);
}

// Sets grid and shared memory in CUlaunchConfig or CUDA_KERNEL_NODE_PARAMS.
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

// Describes rows in device memory for CUDA_MEMCPY2D or CUDA_MEMCPY3D.
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

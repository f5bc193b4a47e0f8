// The CUDA driver, opened at run time, so that the server starts on a machine without one, and over
// another one that takes its place.
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>

namespace gpucast::remote::server {

// Functions that are newer, or not on every system: null where missing. Those that every driver has
// (12.0 and newer) are what the server's sources call beside these (CMakeLists.txt).
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
  // std::runtime_error with one line where the library or a function is missing.
  explicit Driver(const std::string& file);
  ~Driver() = default;  // not closed: a driver's own threads may still run its code
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Names may be macros that stand for a version (cuMemAlloc_v2), in these members too.
#define GPUCAST_DRIVER_FUNCTION(name) \
  decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
#include "server/driver_functions.inc"
  GPUCAST_DRIVER_OPTIONS(GPUCAST_DRIVER_FUNCTION)
#undef GPUCAST_DRIVER_FUNCTION
  decltype(&::cuEventElapsedTime) elapsed = nullptr;  // under either of its names

  bool places_memory() const { return cuMemAddressReserve != nullptr && cuMemMap != nullptr; }
  bool shares_memory() const {
    return cuMemGetAddressRange != nullptr && cuIpcGetMemHandle != nullptr &&
           cuIpcOpenMemHandle != nullptr && cuIpcCloseMemHandle != nullptr;
  }
  std::string text(CUresult status) const;

 private:
  void* library_;
};

// Ends a call; the client is told the status.
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

// That of the DriverError which the body throws, if it does.
template <class Body>
CUresult status_of(Body body) {
  try {
    body();
    return CUDA_SUCCESS;
  } catch (const DriverError& error) {
    return error.status();
  }
}

}  // namespace gpucast::remote::server

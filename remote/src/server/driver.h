// The CUDA driver, opened at run time, so that the server starts on a machine without one, and over
// another one that takes its place.
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>

namespace gpucast::remote::server {

// Every driver has these (12.0 and newer).
#define GPUCAST_DRIVER_FUNCTIONS(X) \
  X(cuInit)                         \
  X(cuDriverGetVersion)             \
  X(cuDeviceGetCount)               \
  X(cuDeviceGet)                    \
  X(cuDeviceGetName)                \
  X(cuDeviceGetUuid)                \
  X(cuDeviceTotalMem)               \
  X(cuDeviceGetAttribute)           \
  X(cuDeviceGetPCIBusId)            \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuCtxSetCurrent)                \
  X(cuCtxSynchronize)               \
  X(cuGetErrorString)               \
  X(cuMemGetInfo)                   \
  X(cuMemAlloc)                     \
  X(cuMemFree)                      \
  X(cuMemHostAlloc)                 \
  X(cuMemcpyHtoDAsync)              \
  X(cuMemcpyDtoHAsync)              \
  X(cuMemcpyDtoDAsync)              \
  X(cuMemcpy2DAsync)                \
  X(cuMemsetD8Async)                \
  X(cuMemsetD2D8Async)              \
  X(cuStreamCreateWithPriority)     \
  X(cuStreamDestroy)                \
  X(cuStreamQuery)                  \
  X(cuStreamWaitEvent)              \
  X(cuStreamWriteValue32)           \
  X(cuEventCreate)                  \
  X(cuEventDestroy)                 \
  X(cuEventRecord)                  \
  X(cuEventQuery)                   \
  X(cuEventSynchronize)             \
  X(cuLibraryLoadData)              \
  X(cuLibraryUnload)                \
  X(cuLibraryGetKernel)             \
  X(cuLibraryGetGlobal)             \
  X(cuKernelGetFunction)            \
  X(cuFuncGetAttribute)             \
  X(cuFuncSetAttribute)             \
  X(cuLaunchKernelEx)               \
  X(cuGraphCreate)                  \
  X(cuGraphDestroy)                 \
  X(cuGraphAddEmptyNode)            \
  X(cuGraphAddKernelNode)           \
  X(cuGraphAddMemcpyNode)           \
  X(cuGraphAddMemsetNode)           \
  X(cuGraphKernelNodeSetAttribute)  \
  X(cuGraphInstantiate)             \
  X(cuGraphExecDestroy)             \
  X(cuGraphExecKernelNodeSetParams) \
  X(cuGraphExecMemcpyNodeSetParams) \
  X(cuGraphExecMemsetNodeSetParams) \
  X(cuGraphLaunch)                  \
  X(cuLaunchHostFunc)               \
  X(cuDeviceGetDefaultMemPool)      \
  X(cuMemAllocFromPoolAsync)        \
  X(cuMemFreeAsync)                 \
  X(cuMemPoolCreate)                \
  X(cuMemPoolDestroy)               \
  X(cuMemPoolTrimTo)                \
  X(cuMemPoolSetAttribute)          \
  X(cuMemPoolGetAttribute)          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)

// Newer, or not on every system: null where missing.
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
#define GPUCAST_MEMBER(name) \
  decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
  GPUCAST_DRIVER_FUNCTIONS(GPUCAST_MEMBER)
  GPUCAST_DRIVER_OPTIONS(GPUCAST_MEMBER)
#undef GPUCAST_MEMBER
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

// A device's properties and attributes, from what the server sent when the connection was made.
#pragma once

#include <driver_types.h>

#include <cstddef>

#include "client/gpu.h"

namespace gpucast::remote::client {

// NOLINTBEGIN(modernize-avoid-c-arrays): programs read it as it lies
// The layout of CUDA 12.
struct Properties12 {
  char name[256]{};
  cudaUUID_t uuid{};
  char luid[8]{};
  unsigned int luidDeviceNodeMask{};
  std::size_t totalGlobalMem{};
  std::size_t sharedMemPerBlock{};
  int regsPerBlock{};
  int warpSize{};
  std::size_t memPitch{};
  int maxThreadsPerBlock{};
  int maxThreadsDim[3]{};
  int maxGridSize[3]{};
  int clockRate{};
  std::size_t totalConstMem{};
  int major{};
  int minor{};
  std::size_t textureAlignment{};
  std::size_t texturePitchAlignment{};
  int deviceOverlap{};
  int multiProcessorCount{};
  int kernelExecTimeoutEnabled{};
  int integrated{};
  int canMapHostMemory{};
  int computeMode{};
  int textures_and_surfaces[40]{};  // their limits stay 0: they are not supported
  std::size_t surfaceAlignment{};
  int concurrentKernels{};
  int ECCEnabled{};
  int pciBusID{};
  int pciDeviceID{};
  int pciDomainID{};
  int tccDriver{};
  int asyncEngineCount{};
  int unifiedAddressing{};
  int memoryClockRate{};
  int memoryBusWidth{};
  int l2CacheSize{};
  int persistingL2CacheMaxSize{};
  int maxThreadsPerMultiProcessor{};
  int streamPrioritiesSupported{};
  int globalL1CacheSupported{};
  int localL1CacheSupported{};
  std::size_t sharedMemPerMultiprocessor{};
  int regsPerMultiprocessor{};
  int managedMemory{};
  int isMultiGpuBoard{};
  int multiGpuBoardGroupID{};
  int hostNativeAtomicSupported{};
  int singleToDoublePrecisionPerfRatio{};
  int pageableMemoryAccess{};
  int concurrentManagedAccess{};
  int computePreemptionSupported{};
  int canUseHostPointerForRegisteredMem{};
  int cooperativeLaunch{};
  int cooperativeMultiDeviceLaunch{};
  std::size_t sharedMemPerBlockOptin{};
  int pageableMemoryAccessUsesHostPageTables{};
  int directManagedMemAccessFromHost{};
  int maxBlocksPerMultiProcessor{};
  int accessPolicyMaxWindowSize{};
  std::size_t reservedSharedMemPerBlock{};
  int hostRegisterSupported{};
  int sparseCudaArraySupported{};
  int hostRegisterReadOnlySupported{};
  int timelineSemaphoreInteropSupported{};
  int memoryPoolsSupported{};
  int gpuDirectRDMASupported{};
  unsigned int gpuDirectRDMAFlushWritesOptions{};
  int gpuDirectRDMAWritesOrdering{};
  unsigned int memoryPoolSupportedHandleTypes{};
  int deferredMappingCudaArraySupported{};
  int ipcEventSupported{};
  int clusterLaunch{};
  int unifiedFunctionPointers{};
  int reserved[63]{};
};
// NOLINTEND(modernize-avoid-c-arrays)
static_assert(sizeof(Properties12) == 1032, "as CUDA 12 programs expect it");

// Returns what a program may rely on over a network: nothing that needs the device to reach host
// memory.
int attribute(const Gpu& gpu, int which);
// `Properties`: Properties12, or cudaDeviceProp, which is that of CUDA 13.
template <class Properties>
Properties properties(const Gpu& gpu);

}  // namespace gpucast::remote::client

#include "client/versions/properties_12.h"

#include <cstring>

#include "client/properties.h"

namespace gpucast::remote::client {

// What 13 has is taken from there; what it has no more are attributes still. Textures and surfaces
// are not offered: their limits stay 0.
Properties12 properties_12(const Gpu& gpu) {
  const cudaDeviceProp of_13 = properties(gpu);
  Properties12 result;
  std::memcpy(result.name, of_13.name, sizeof result.name);
  result.uuid = of_13.uuid;
  result.totalGlobalMem = of_13.totalGlobalMem;
  result.sharedMemPerBlock = of_13.sharedMemPerBlock;
  result.regsPerBlock = of_13.regsPerBlock;
  result.warpSize = of_13.warpSize;
  result.memPitch = of_13.memPitch;
  result.maxThreadsPerBlock = of_13.maxThreadsPerBlock;
  std::memcpy(result.maxThreadsDim, of_13.maxThreadsDim, sizeof result.maxThreadsDim);
  std::memcpy(result.maxGridSize, of_13.maxGridSize, sizeof result.maxGridSize);
  result.totalConstMem = of_13.totalConstMem;
  result.major = of_13.major;
  result.minor = of_13.minor;
  result.textureAlignment = of_13.textureAlignment;
  result.texturePitchAlignment = of_13.texturePitchAlignment;
  result.multiProcessorCount = of_13.multiProcessorCount;
  result.integrated = of_13.integrated;
  result.canMapHostMemory = of_13.canMapHostMemory;
  result.concurrentKernels = of_13.concurrentKernels;
  result.ECCEnabled = of_13.ECCEnabled;
  result.pciBusID = of_13.pciBusID;
  result.pciDeviceID = of_13.pciDeviceID;
  result.pciDomainID = of_13.pciDomainID;
  result.tccDriver = of_13.tccDriver;
  result.asyncEngineCount = of_13.asyncEngineCount;
  result.unifiedAddressing = of_13.unifiedAddressing;
  result.memoryBusWidth = of_13.memoryBusWidth;
  result.l2CacheSize = of_13.l2CacheSize;
  result.persistingL2CacheMaxSize = of_13.persistingL2CacheMaxSize;
  result.maxThreadsPerMultiProcessor = of_13.maxThreadsPerMultiProcessor;
  result.streamPrioritiesSupported = of_13.streamPrioritiesSupported;
  result.globalL1CacheSupported = of_13.globalL1CacheSupported;
  result.localL1CacheSupported = of_13.localL1CacheSupported;
  result.sharedMemPerMultiprocessor = of_13.sharedMemPerMultiprocessor;
  result.regsPerMultiprocessor = of_13.regsPerMultiprocessor;
  result.managedMemory = of_13.managedMemory;
  result.isMultiGpuBoard = of_13.isMultiGpuBoard;
  result.multiGpuBoardGroupID = of_13.multiGpuBoardGroupID;
  result.hostNativeAtomicSupported = of_13.hostNativeAtomicSupported;
  result.pageableMemoryAccess = of_13.pageableMemoryAccess;
  result.concurrentManagedAccess = of_13.concurrentManagedAccess;
  result.computePreemptionSupported = of_13.computePreemptionSupported;
  result.cooperativeLaunch = of_13.cooperativeLaunch;
  result.sharedMemPerBlockOptin = of_13.sharedMemPerBlockOptin;
  result.maxBlocksPerMultiProcessor = of_13.maxBlocksPerMultiProcessor;
  result.accessPolicyMaxWindowSize = of_13.accessPolicyMaxWindowSize;
  result.reservedSharedMemPerBlock = of_13.reservedSharedMemPerBlock;
  result.hostRegisterSupported = of_13.hostRegisterSupported;
  result.memoryPoolsSupported = of_13.memoryPoolsSupported;
  result.clusterLaunch = of_13.clusterLaunch;
  result.unifiedFunctionPointers = of_13.unifiedFunctionPointers;
  result.clockRate = attribute(gpu, cudaDevAttrClockRate);
  result.deviceOverlap = attribute(gpu, cudaDevAttrGpuOverlap);
  result.kernelExecTimeoutEnabled = attribute(gpu, cudaDevAttrKernelExecTimeout);
  result.computeMode = attribute(gpu, cudaDevAttrComputeMode);
  result.memoryClockRate = attribute(gpu, cudaDevAttrMemoryClockRate);
  result.singleToDoublePrecisionPerfRatio =
      attribute(gpu, cudaDevAttrSingleToDoublePrecisionPerfRatio);
  return result;
}

}  // namespace gpucast::remote::client

#include "client/properties.h"

#include <algorithm>
#include <cstdio>
#include <type_traits>

#include "client/refusals.h"

namespace gpucast::remote::client {

static_assert(sizeof(cudaDeviceProp) == 1008, "as CUDA 13 programs expect it");

int attribute(const Gpu& gpu, int which) {
  if (which == cudaDevAttrHostNumaId) return -1;
  return offers(static_cast<cudaDeviceAttr>(which)) ? gpu.attribute(which) : 0;
}

template <class Properties>
Properties properties(const Gpu& gpu) {
  const auto a = [&](int which) { return attribute(gpu, which); };
  const auto size = [&](int which) { return static_cast<std::size_t>(attribute(gpu, which)); };
  Properties p{};
  std::snprintf(p.name, sizeof p.name, "%s", gpu.device().name.c_str());
  std::copy_n(gpu.device().uuid.begin(), sizeof p.uuid.bytes,
              reinterpret_cast<std::uint8_t*>(p.uuid.bytes));
  p.totalGlobalMem = gpu.device().memory;
  p.sharedMemPerBlock = size(cudaDevAttrMaxSharedMemoryPerBlock);
  p.regsPerBlock = a(cudaDevAttrMaxRegistersPerBlock);
  p.warpSize = a(cudaDevAttrWarpSize);
  p.memPitch = size(cudaDevAttrMaxPitch);
  p.maxThreadsPerBlock = a(cudaDevAttrMaxThreadsPerBlock);
  p.maxThreadsDim[0] = a(cudaDevAttrMaxBlockDimX);
  p.maxThreadsDim[1] = a(cudaDevAttrMaxBlockDimY);
  p.maxThreadsDim[2] = a(cudaDevAttrMaxBlockDimZ);
  p.maxGridSize[0] = a(cudaDevAttrMaxGridDimX);
  p.maxGridSize[1] = a(cudaDevAttrMaxGridDimY);
  p.maxGridSize[2] = a(cudaDevAttrMaxGridDimZ);
  p.totalConstMem = size(cudaDevAttrTotalConstantMemory);
  p.major = a(cudaDevAttrComputeCapabilityMajor);
  p.minor = a(cudaDevAttrComputeCapabilityMinor);
  p.textureAlignment = size(cudaDevAttrTextureAlignment);
  p.texturePitchAlignment = size(cudaDevAttrTexturePitchAlignment);
  p.multiProcessorCount = a(cudaDevAttrMultiProcessorCount);
  p.integrated = a(cudaDevAttrIntegrated);
  p.canMapHostMemory = a(cudaDevAttrCanMapHostMemory);
  p.concurrentKernels = a(cudaDevAttrConcurrentKernels);
  p.ECCEnabled = a(cudaDevAttrEccEnabled);
  p.pciBusID = a(cudaDevAttrPciBusId);
  p.pciDeviceID = a(cudaDevAttrPciDeviceId);
  p.pciDomainID = a(cudaDevAttrPciDomainId);
  p.tccDriver = a(cudaDevAttrTccDriver);
  p.asyncEngineCount = a(cudaDevAttrAsyncEngineCount);
  p.unifiedAddressing = a(cudaDevAttrUnifiedAddressing);
  p.memoryBusWidth = a(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = a(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = a(cudaDevAttrMaxPersistingL2CacheSize);
  p.maxThreadsPerMultiProcessor = a(cudaDevAttrMaxThreadsPerMultiProcessor);
  p.streamPrioritiesSupported = a(cudaDevAttrStreamPrioritiesSupported);
  p.globalL1CacheSupported = a(cudaDevAttrGlobalL1CacheSupported);
  p.localL1CacheSupported = a(cudaDevAttrLocalL1CacheSupported);
  p.sharedMemPerMultiprocessor = size(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  p.regsPerMultiprocessor = a(cudaDevAttrMaxRegistersPerMultiprocessor);
  p.managedMemory = a(cudaDevAttrManagedMemory);
  p.isMultiGpuBoard = a(cudaDevAttrIsMultiGpuBoard);
  p.multiGpuBoardGroupID = a(cudaDevAttrMultiGpuBoardGroupID);
  p.hostNativeAtomicSupported = a(cudaDevAttrHostNativeAtomicSupported);
  p.pageableMemoryAccess = a(cudaDevAttrPageableMemoryAccess);
  p.concurrentManagedAccess = a(cudaDevAttrConcurrentManagedAccess);
  p.computePreemptionSupported = a(cudaDevAttrComputePreemptionSupported);
  p.cooperativeLaunch = a(cudaDevAttrCooperativeLaunch);
  p.sharedMemPerBlockOptin = size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  p.maxBlocksPerMultiProcessor = a(cudaDevAttrMaxBlocksPerMultiprocessor);
  p.accessPolicyMaxWindowSize = a(cudaDevAttrMaxAccessPolicyWindowSize);
  p.reservedSharedMemPerBlock = size(cudaDevAttrReservedSharedMemoryPerBlock);
  p.hostRegisterSupported = a(cudaDevAttrHostRegisterSupported);
  p.memoryPoolsSupported = a(cudaDevAttrMemoryPoolsSupported);
  p.clusterLaunch = a(cudaDevAttrClusterLaunch);
  p.unifiedFunctionPointers = 0;
  if constexpr (std::is_same_v<Properties, Properties12>) {
    p.clockRate = a(cudaDevAttrClockRate);
    p.deviceOverlap = a(cudaDevAttrGpuOverlap);
    p.kernelExecTimeoutEnabled = a(cudaDevAttrKernelExecTimeout);
    p.computeMode = a(cudaDevAttrComputeMode);
    p.memoryClockRate = a(cudaDevAttrMemoryClockRate);
    p.singleToDoublePrecisionPerfRatio = a(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  } else {
    p.deviceNumaConfig = a(cudaDevAttrNumaConfig);
    p.deviceNumaId = a(cudaDevAttrNumaId);
    p.mpsEnabled = a(cudaDevAttrMpsEnabled);
    p.hostNumaId = a(cudaDevAttrHostNumaId);
    p.gpuPciDeviceID = static_cast<unsigned>(a(cudaDevAttrGpuPciDeviceId));
    p.gpuPciSubsystemID = static_cast<unsigned>(a(cudaDevAttrGpuPciSubsystemId));
  }
  return p;
}
template cudaDeviceProp properties(const Gpu& gpu);
template Properties12 properties(const Gpu& gpu);

}  // namespace gpucast::remote::client

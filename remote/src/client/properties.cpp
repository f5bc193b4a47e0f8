#include "client/properties.h"

#include <cstdio>
#include <iterator>

#include "client/refusals.h"

namespace gpucast::remote::client {

static_assert(sizeof(cudaDeviceProp) == 1008, "as CUDA 13 programs expect it");

int attribute(const Gpu& gpu, int which) {
  if (which == cudaDevAttrHostNumaId) return -1;
  return offers(static_cast<cudaDeviceAttr>(which)) ? gpu.attribute(which) : 0;
}

template <>
cudaDeviceProp properties(const Gpu& gpu) {
  const auto a = [&](int which) { return attribute(gpu, which); };
  const auto size = [&](int which) { return static_cast<std::size_t>(attribute(gpu, which)); };
  cudaDeviceProp p{};
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
  p.deviceNumaConfig = a(cudaDevAttrNumaConfig);
  p.deviceNumaId = a(cudaDevAttrNumaId);
  p.mpsEnabled = a(cudaDevAttrMpsEnabled);
  p.hostNumaId = a(cudaDevAttrHostNumaId);
  p.gpuPciDeviceID = static_cast<unsigned>(a(cudaDevAttrGpuPciDeviceId));
  p.gpuPciSubsystemID = static_cast<unsigned>(a(cudaDevAttrGpuPciSubsystemId));
  return p;
}

template <>
Properties12 properties(const Gpu& gpu) {
  // From each of these fields of CUDA 13 on, up to the next, CUDA 12 has the same at this offset.
  // Limits of textures and surfaces lie before surfaceAlignment: they stay 0, as in 13.
  constexpr std::size_t parts[][2] = {{offsetof(cudaDeviceProp, name), 0},
                                      {offsetof(cudaDeviceProp, multiProcessorCount), 388},
                                      {offsetof(cudaDeviceProp, integrated), 396},
                                      {offsetof(cudaDeviceProp, maxTexture1D), 408},
                                      {offsetof(cudaDeviceProp, surfaceAlignment), 568},
                                      {offsetof(cudaDeviceProp, memoryBusWidth), 612},
                                      {offsetof(cudaDeviceProp, sharedMemPerMultiprocessor), 640},
                                      {offsetof(cudaDeviceProp, pageableMemoryAccess), 672},
                                      {offsetof(cudaDeviceProp, sharedMemPerBlockOptin), 696},
                                      {offsetof(cudaDeviceProp, deviceNumaConfig), 0}};
  // And it has these in between.
  constexpr std::pair<std::size_t, cudaDeviceAttr> own[] = {
      {348, cudaDevAttrClockRate},         {384, cudaDevAttrGpuOverlap},
      {392, cudaDevAttrKernelExecTimeout}, {404, cudaDevAttrComputeMode},
      {608, cudaDevAttrMemoryClockRate},   {668, cudaDevAttrSingleToDoublePrecisionPerfRatio}};
  const auto all = properties<cudaDeviceProp>(gpu);
  Properties12 result;
  for (std::size_t k = 0; k + 1 < std::size(parts); ++k) {
    const auto [begin, place] = parts[k];
    std::memcpy(result.bytes.data() + place, reinterpret_cast<const std::byte*>(&all) + begin,
                parts[k + 1][0] - begin);
  }
  for (const auto& [place, which] : own) {
    const int value = attribute(gpu, which);
    std::memcpy(result.bytes.data() + place, &value, sizeof value);
  }
  return result;
}

}  // namespace gpucast::remote::client

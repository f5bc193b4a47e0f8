// What remote GPUs do not support, in one place: the attributes that say so, and the error of each
// entry point that refuses (scripts/generate_remote_layer.py reads them too). Every other entry
// point without an implementation returns cudaErrorNotSupported, and says so once.
#pragma once

#include <driver_types.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace gpucast::remote::client {

// Memory that GPU and host both reach, sharing a GPU's memory with other processes, and textures:
// these are 0 whatever the GPU has.
inline constexpr std::array attributes_not_offered = {
    cudaDevAttrCanMapHostMemory,
    cudaDevAttrManagedMemory,
    cudaDevAttrPageableMemoryAccess,
    cudaDevAttrConcurrentManagedAccess,
    cudaDevAttrCanUseHostPointerForRegisteredMem,
    cudaDevAttrPageableMemoryAccessUsesHostPageTables,
    cudaDevAttrDirectManagedMemAccessFromHost,
    cudaDevAttrHostNativeAtomicSupported,
    cudaDevAttrHostRegisterReadOnlySupported,
    cudaDevAttrMemoryPoolSupportedHandleTypes,
    cudaDevAttrGPUDirectRDMASupported,
    cudaDevAttrIpcEventSupport,
    cudaDevAttrTimelineSemaphoreInteropSupported,
    cudaDevAttrSparseCudaArraySupported,
    cudaDevAttrDeferredMappingCudaArraySupported,
    cudaDevAttrStreamPrioritiesSupported,
};

constexpr bool offers(cudaDeviceAttr which) {
  return std::ranges::find(attributes_not_offered, which) == attributes_not_offered.end();
}

// The error is the native one where such memory, or a way to a peer, does not exist.
struct Refusal {
  std::string_view call;
  cudaError_t error;
};
inline constexpr std::array refusals = {
    Refusal{"cudaDeviceDisablePeerAccess", cudaErrorPeerAccessNotEnabled},
    Refusal{"cudaDeviceEnablePeerAccess", cudaErrorPeerAccessUnsupported},
    Refusal{"cudaHostGetDevicePointer", cudaErrorNotSupported},
    Refusal{"cudaMallocManaged", cudaErrorNotSupported},
    Refusal{"cudaMemPrefetchAsync", cudaErrorInvalidDevice},
    Refusal{"cudaStreamAttachMemAsync", cudaErrorNotSupported},
};

constexpr cudaError_t refusal_of(std::string_view call) {
  const auto* const own = std::ranges::find(refusals, call, &Refusal::call);
  return own == refusals.end() ? cudaErrorNotSupported : own->error;
}

}  // namespace gpucast::remote::client

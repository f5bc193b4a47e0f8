// Devices: one for each server.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "client/entry.h"
#include "client/properties.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

void require_place(const void* place) {
  if (place == nullptr) throw Failure{cudaErrorInvalidValue};
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return entry<"cudaGetDeviceCount">([&] {
    require_place(count);
    *count = 0;
    *count = runtime().device_count();
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return entry<"cudaGetDevice">([&] {
    require_place(device);
    runtime().device_count();
    *device = this_thread().device;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return entry<"cudaSetDevice">([&] {
    runtime().gpu(device);
    this_thread().device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned /*flags*/, unsigned /*which*/) {
  return entry<"cudaInitDevice">([&] {
    runtime().gpu(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* result, int device) {
  return entry<"cudaGetDeviceProperties">([&] {
    require_place(result);
    *result = properties(runtime().gpu(device));
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return entry<"cudaDeviceGetAttribute">([&] {
    require_place(value);
    *value = attribute(runtime().gpu(device), which);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  return entry<"cudaDeviceGetPCIBusId">([&] {
    require_place(text);
    const std::string& pci = runtime().gpu(device).device().pci;
    if (size <= static_cast<int>(pci.size())) return cudaErrorInvalidValue;
    std::snprintf(text, static_cast<std::size_t>(size), "%s", pci.c_str());
    return cudaSuccess;
  });
}

// The first of those with the address: servers on several hosts may have the same.
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pci) {
  return entry<"cudaDeviceGetByPCIBusId">([&] {
    require_place(device);
    require_place(pci);
    for (int k = 0; k < runtime().device_count(); ++k) {
      if (runtime().gpu(k).device().pci == pci) {
        *device = k;
        return cudaSuccess;
      }
    }
    return cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return entry<"cudaDeviceSynchronize">(
      [&] { return to_error(runtime().current().synchronize()); });
}

cudaError_t cudaDeviceReset() {
  return entry<"cudaDeviceReset">([&] {
    const int device = this_thread().device;
    require(runtime().gpu(device).settle());
    runtime().attachments.forget(device);
    require(runtime().gpu(device).reset());
    runtime().memory.forget(device);
    runtime().forget_handles(device);
    return cudaSuccess;
  });
}

// How a thread waits for an answer is no matter of the device's.
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return entry<"cudaSetDeviceFlags">([&] {
    if ((flags & cudaDeviceMapHost) != 0) return runtime().unsupported("cudaDeviceMapHost");
    return cudaSuccess;
  });
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return entry<"cudaGetDeviceFlags">([&] {
    require_place(flags);
    *flags = cudaDeviceScheduleAuto;
    return cudaSuccess;
  });
}

// Preferences, which a device may ignore.
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache /*config*/) {
  return entry<"cudaDeviceSetCacheConfig">([] { return cudaSuccess; });
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return entry<"cudaDeviceGetCacheConfig">([&] {
    require_place(config);
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return entry<"cudaDeviceGetStreamPriorityRange">([&] {
    runtime().current();
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = 0;
    return cudaSuccess;
  });
}

// ---- peers: whatever way copies between devices take, kernels reach no other server's memory ----

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return entry<"cudaDeviceCanAccessPeer">([&] {
    require_place(can);
    runtime().gpu(device);
    runtime().gpu(peer);
    *can = 0;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned /*flags*/) {
  return entry<"cudaDeviceEnablePeerAccess">([&] {
    runtime().gpu(peer);
    return cudaErrorPeerAccessUnsupported;
  });
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return entry<"cudaDeviceDisablePeerAccess">([&] {
    runtime().gpu(peer);
    return cudaErrorPeerAccessNotEnabled;
  });
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr /*which*/, int device,
                                      int peer) {
  return entry<"cudaDeviceGetP2PAttribute">([&] {
    require_place(value);
    runtime().gpu(device);
    runtime().gpu(peer);
    if (device == peer) return cudaErrorInvalidDevice;
    *value = 0;
    return cudaSuccess;
  });
}

}  // extern "C"

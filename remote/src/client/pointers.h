// What an address of the program's is, as cudaPointerGetAttributes tells it in every version.
#pragma once

#include <driver_types.h>

#include "client/copies.h"

namespace gpucast::remote::client {

struct Pointer {
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = cudaInvalidDeviceId;
  void* on_device = nullptr;
  void* on_host = nullptr;
};

inline Pointer pointer_of(const void* address) {
  runtime().device_count();
  auto* pointer = const_cast<void*>(address);
  if (const auto memory = runtime().memory.device_memory(address_of(address)))
    return {.type = cudaMemoryTypeDevice, .device = memory->device, .on_device = pointer};
  if (runtime().memory.pinned(address, 1))
    return {.type = cudaMemoryTypeHost, .device = this_thread().device, .on_host = pointer};
  return {.on_host = pointer};
}

}  // namespace gpucast::remote::client

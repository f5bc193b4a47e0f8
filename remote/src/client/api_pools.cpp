// Entry points for memory pools. Pools that processes share are refused: no other process sees
// these GPUs.
#include <cuda_runtime_api.h>

#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

int pools_device_of(const cudaMemLocation* location,
                    cudaMemAllocationType type = cudaMemAllocationTypePinned) {
  refuse_if(type != cudaMemAllocationTypePinned, "memory pools of managed memory");
  require_valid(location != nullptr);
  refuse_if(location->type != cudaMemLocationTypeDevice, "memory pools of the host");
  return existing(location->id);
}

// Whether the attribute is an int rather than 64 bits: the flags come first in the enumeration.
bool is_pool_flag(cudaMemPoolAttr which) { return which < cudaMemPoolAttrReleaseThreshold; }

}  // namespace

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return ENTRY(give(pool, runtime().pools.usual(existing(device))));
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return ENTRY(give(pool, runtime().pools.current(existing(device))));
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return ENTRY(runtime().pools.set_current(existing(device), pool));
}
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  return ENTRY(give(pool, runtime().pools.usual(pools_device_of(location, type))));
}
cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                              cudaMemAllocationType type) {
  return ENTRY(give(pool, runtime().pools.current(pools_device_of(location, type))));
}
cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type,
                              cudaMemPool_t pool) {
  return ENTRY(runtime().pools.set_current(pools_device_of(location, type), pool));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return entry([&] {
    require_valid(pool != nullptr && properties != nullptr);
    const int device = pools_device_of(&properties->location, properties->allocType);
    refuse_if(properties->handleTypes != cudaMemHandleTypeNone,
              "memory pools that processes share");
    Gpu& gpu = runtime().gpu(device);
    const Id id = gpu.new_id();
    gpu.call(PoolCreate{.pool = id, .most = properties->maxSize});
    *pool = runtime().pools.handles.add({.device = device, .id = id});
  });
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return entry([&] {
    const DeviceObject removed = runtime().pools.remove(pool);
    runtime().gpu(removed).send(PoolDestroy{.pool = removed.id});
  });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  return entry([&] {
    const DeviceObject its = runtime().pools.handles.find(pool);
    runtime().gpu(its).call(PoolTrim{.pool = its.id, .bytes = bytes});
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  return entry([&] {
    const DeviceObject its = runtime().pools.handles.find(pool);
    require_valid(value != nullptr);
    const std::uint64_t wanted = is_pool_flag(which)
                                     ? static_cast<std::uint64_t>(*static_cast<int*>(value) != 0)
                                     : *static_cast<std::uint64_t*>(value);
    runtime().gpu(its).call(PoolSet{.pool = its.id, .attribute = which, .value = wanted});
  });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  return entry([&] {
    const DeviceObject its = runtime().pools.handles.find(pool);
    require_valid(value != nullptr);
    const PoolValue told = runtime().gpu(its).call(PoolGet{.pool = its.id, .attribute = which});
    if (is_pool_flag(which))
      *static_cast<int*>(value) = static_cast<int>(told.value);
    else
      *static_cast<std::uint64_t*>(value) = told.value;
  });
}

// A pool's memory belongs to its own device, as all memory does here.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted,
                                 std::size_t count) {
  return entry([&] {
    const int device = runtime().pools.handles.find(pool).device;
    require_valid(wanted != nullptr || count == 0);
    for (std::size_t k = 0; k < count; ++k) {
      const bool own = pools_device_of(&wanted[k].location) == device;
      require_valid(!own || wanted[k].flags == cudaMemAccessFlagsProtReadWrite);
      if (!own && wanted[k].flags != cudaMemAccessFlagsProtNone)
        throw Failure{cudaErrorPeerAccessUnsupported};
    }
  });
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  return entry([&] {
    const bool own = runtime().pools.handles.find(pool).device == pools_device_of(location);
    give(flags, own ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone);
  });
}

}  // extern "C"

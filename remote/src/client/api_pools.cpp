// Memory pools. What is shared between processes is not: no other process sees these GPUs.
#include <cuda_runtime_api.h>

#include "client/entry.h"
#include "client/handles.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

int pools_device_of(const cudaMemLocation* location) {
  require_valid(location != nullptr);
  if (location->type != cudaMemLocationTypeDevice)
    require(runtime().unsupported("memory pools of the host"));
  runtime().gpu(location->id);
  return location->id;
}

void require_device_memory(cudaMemAllocationType type) {
  if (type != cudaMemAllocationTypePinned)
    require(runtime().unsupported("memory pools of managed memory"));
}

bool is_pool_flag(cudaMemPoolAttr which) {
  return which == cudaMemPoolReuseFollowEventDependencies ||
         which == cudaMemPoolReuseAllowOpportunistic ||
         which == cudaMemPoolReuseAllowInternalDependencies;
}

}  // namespace

namespace gpucast::remote::client {

cudaMemPool_t Pools::usual(int device) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = usual_.try_emplace(device, nullptr);
  if (is_new) found->second = handles.add({.device = device, .id = usual_pool});
  return found->second;
}

cudaMemPool_t Pools::current(int device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = current_.find(device); found != current_.end()) return found->second;
  }
  return usual(device);
}

void Pools::set_current(int device, cudaMemPool_t pool) {
  if (handles.find(pool).device != device) throw Failure{cudaErrorInvalidValue};
  const std::lock_guard lock(mutex_);
  current_[device] = pool;
}

DeviceObject Pools::remove(cudaMemPool_t pool) {
  if (handles.find(pool).id == usual_pool) throw Failure{cudaErrorInvalidValue};
  const std::lock_guard lock(mutex_);
  std::erase_if(current_, [&](const auto& each) { return each.second == pool; });
  return handles.remove(pool);
}

void Pools::forget(int device) {
  const std::lock_guard lock(mutex_);
  usual_.erase(device);
  current_.erase(device);
  handles.forget(device);
}

}  // namespace gpucast::remote::client

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return entry<"cudaDeviceGetDefaultMemPool">([&] {
    runtime().gpu(device);
    give(pool, runtime().pools.usual(device));
  });
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return entry<"cudaDeviceGetMemPool">([&] {
    runtime().gpu(device);
    give(pool, runtime().pools.current(device));
  });
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return entry<"cudaDeviceSetMemPool">([&] {
    runtime().gpu(device);
    runtime().pools.set_current(device, pool);
  });
}
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  return entry<"cudaMemGetDefaultMemPool">([&] {
    require_device_memory(type);
    give(pool, runtime().pools.usual(pools_device_of(location)));
  });
}
cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                              cudaMemAllocationType type) {
  return entry<"cudaMemGetMemPool">([&] {
    require_device_memory(type);
    give(pool, runtime().pools.current(pools_device_of(location)));
  });
}
cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type,
                              cudaMemPool_t pool) {
  return entry<"cudaMemSetMemPool">([&] {
    require_device_memory(type);
    runtime().pools.set_current(pools_device_of(location), pool);
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return entry<"cudaMemPoolCreate">([&] {
    require_valid(pool != nullptr && properties != nullptr);
    require_device_memory(properties->allocType);
    if (properties->handleTypes != cudaMemHandleTypeNone)
      require(runtime().unsupported("memory pools that processes share"));
    const int device = pools_device_of(&properties->location);
    Gpu& gpu = runtime().gpu(device);
    const Id id = gpu.new_id();
    require(gpu.call(PoolCreate{.pool = id, .most = properties->maxSize}));
    *pool = runtime().pools.handles.add({.device = device, .id = id});
  });
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return entry<"cudaMemPoolDestroy">([&] {
    const DeviceObject removed = runtime().pools.remove(pool);
    require(runtime().gpu(removed.device).send(PoolDestroy{.pool = removed.id}));
  });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  return entry<"cudaMemPoolTrimTo">([&] {
    const DeviceObject found = runtime().pools.handles.find(pool);
    require(runtime().gpu(found.device).call(PoolTrim{.pool = found.id, .bytes = bytes}));
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  return entry<"cudaMemPoolSetAttribute">([&] {
    const DeviceObject found = runtime().pools.handles.find(pool);
    require_valid(value != nullptr);
    const std::uint64_t wanted = is_pool_flag(which)
                                     ? static_cast<std::uint64_t>(*static_cast<int*>(value) != 0)
                                     : *static_cast<std::uint64_t*>(value);
    require(runtime()
                .gpu(found.device)
                .call(PoolSet{.pool = found.id, .attribute = which, .value = wanted}));
  });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  return entry<"cudaMemPoolGetAttribute">([&] {
    const DeviceObject found = runtime().pools.handles.find(pool);
    require_valid(value != nullptr);
    PoolValue result;
    require(
        runtime().gpu(found.device).call(PoolGet{.pool = found.id, .attribute = which}, result));
    if (is_pool_flag(which)) {
      *static_cast<int*>(value) = static_cast<int>(result.value);
    } else {
      *static_cast<std::uint64_t*>(value) = result.value;
    }
  });
}

// A pool's memory is its own device's, as all memory here is.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted,
                                 std::size_t count) {
  return entry<"cudaMemPoolSetAccess">([&] {
    const DeviceObject found = runtime().pools.handles.find(pool);
    require_valid(wanted != nullptr || count == 0);
    for (std::size_t k = 0; k < count; ++k) {
      const bool own = pools_device_of(&wanted[k].location) == found.device;
      require_valid(!own || wanted[k].flags == cudaMemAccessFlagsProtReadWrite);
      if (!own && wanted[k].flags != cudaMemAccessFlagsProtNone)
        throw Failure{cudaErrorPeerAccessUnsupported};
    }
  });
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  return entry<"cudaMemPoolGetAccess">([&] {
    const bool own = runtime().pools.handles.find(pool).device == pools_device_of(location);
    give(flags, own ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone);
  });
}

}  // extern "C"

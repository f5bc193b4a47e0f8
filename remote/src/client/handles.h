// Handles that the program receives, and the objects behind them.
#pragma once

#include <driver_types.h>

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "client/status.h"
#include "protocol/calls.h"

namespace gpucast::remote::client {

// The object behind a handle: a stream, an event or a memory pool.
struct DeviceObject {
  int device = 0;
  Id id = 0;
  unsigned flags = 0;
  int priority = 0;  // of a stream
};

// The program's handles of one kind; each is its object's address. Failure if the program has no
// such handle.
template <class Handle>
class Handles {
 public:
  Handle add(const DeviceObject& object) {
    auto owned = std::make_unique<DeviceObject>(object);
    const auto handle = reinterpret_cast<Handle>(owned.get());
    const std::unique_lock lock(mutex_);
    objects_[handle] = std::move(owned);
    return handle;
  }
  DeviceObject find(Handle handle) const {
    const std::shared_lock lock(mutex_);
    const auto* const object = value_at(objects_, handle);
    if (object == nullptr) throw Failure{cudaErrorInvalidResourceHandle};
    return **object;
  }
  DeviceObject remove(Handle handle) {
    const std::unique_lock lock(mutex_);
    const auto removed = objects_.extract(handle);
    if (!removed) throw Failure{cudaErrorInvalidResourceHandle};
    return *removed.mapped();
  }
  void forget(int device) {
    const std::unique_lock lock(mutex_);
    std::erase_if(objects_, [&](const auto& entry) { return entry.second->device == device; });
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::unique_ptr<DeviceObject>> objects_;
};

// The program's memory pools, and the pool that each device uses.
class Pools {
 public:
  Handles<cudaMemPool_t> handles;

  // Returns the default pool of the device.
  cudaMemPool_t usual(int device) {
    const std::lock_guard lock(mutex_);
    cudaMemPool_t& pool = usual_[device];
    if (pool == nullptr) pool = handles.add({.device = device, .id = usual_pool});
    return pool;
  }
  cudaMemPool_t current(int device) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* pool = value_at(current_, device)) return *pool;
    }
    return usual(device);
  }
  // Failure if the pool belongs to another device.
  void set_current(int device, cudaMemPool_t pool) {
    require_valid(handles.find(pool).device == device);
    const std::lock_guard lock(mutex_);
    current_[device] = pool;
  }
  // Failure if it is a default pool.
  DeviceObject remove(cudaMemPool_t pool) {
    require_valid(handles.find(pool).id != usual_pool);
    const std::lock_guard lock(mutex_);
    std::erase_if(current_, [&](const auto& entry) { return entry.second == pool; });
    return handles.remove(pool);
  }
  void forget(int device) {
    const std::lock_guard lock(mutex_);
    usual_.erase(device);
    current_.erase(device);
    handles.forget(device);
  }

 private:
  std::mutex mutex_;
  std::map<int, cudaMemPool_t> usual_;
  std::map<int, cudaMemPool_t> current_;
};

}  // namespace gpucast::remote::client

// Handles that the program is given, and what they stand for.
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

// What a handle of the program's stands for: a stream, an event or a memory pool.
struct DeviceObject {
  int device = 0;
  Id id = 0;
  unsigned flags = 0;
  int priority = 0;  // of a stream
};

// The program's handles of one kind, each the address of its object. Failure where the program has
// no such handle.
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

// The program's memory pools, and which of them a device takes memory from.
class Pools {
 public:
  Handles<cudaMemPool_t> handles;

  // The one that every device has.
  cudaMemPool_t usual(int device);
  cudaMemPool_t current(int device);
  // Failure if it is not the device's.
  void set_current(int device, cudaMemPool_t pool);
  // Failure if it is one that every device has.
  DeviceObject remove(cudaMemPool_t pool);
  void forget(int device);

 private:
  std::mutex mutex_;
  std::map<int, cudaMemPool_t> usual_;
  std::map<int, cudaMemPool_t> current_;
};

}  // namespace gpucast::remote::client

// What the CUDA runtime's interface forces to be one for the whole process: the servers, what the
// program registered, and what its handles and addresses stand for.
#pragma once

#include <driver_types.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/address_map.h"
#include "client/attachments.h"
#include "client/counters.h"
#include "client/gpu.h"
#include "client/program.h"
#include "client/settings.h"
#include "client/status.h"

namespace gpucast::remote::client {

// What a handle of the program's stands for: a stream or an event.
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
    const auto found = objects_.find(handle);
    if (found == objects_.end()) throw Failure{cudaErrorInvalidResourceHandle};
    return *found->second;
  }
  DeviceObject remove(Handle handle) {
    const std::unique_lock lock(mutex_);
    const auto removed = objects_.extract(handle);
    if (!removed) throw Failure{cudaErrorInvalidResourceHandle};
    return *removed.mapped();
  }
  void forget(int device) {
    const std::unique_lock lock(mutex_);
    std::erase_if(objects_, [&](const auto& each) { return each.second->device == device; });
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::unique_ptr<DeviceObject>> objects_;
};

// A stream, found.
struct OnStream {
  int device = 0;
  Gpu* gpu = nullptr;
  Id id = 0;
};

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};

// A thread's per-thread default stream on one device.
struct OwnStream {
  Id id = 0;
  std::uint64_t generation = 0;  // of the GPU
};

// The part of the runtime's state that each thread has of its own.
struct ThreadState {
  ThreadState() = default;
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  int device = 0;
  cudaError_t last_error = cudaSuccess;
  std::vector<LaunchShape> shapes;       // of launches that <<<>>> has begun
  std::map<int, OwnStream> own_streams;  // by device
};
ThreadState& this_thread();

class Runtime {
 public:
  Program program;
  Counters counters;
  AddressMap memory;
  Attachments attachments;
  Handles<cudaStream_t> streams;
  Handles<cudaEvent_t> events;

  // Connects to all servers the first time. Failure, said in a line on stderr once, if one cannot
  // be reached.
  int device_count();
  Gpu& gpu(int device);
  Gpu& current() { return gpu(this_thread().device); }

  OnStream stream(cudaStream_t handle);
  // Destroys the per-thread default streams of a thread that ends.
  void destroy(const std::map<int, OwnStream>& own_streams) noexcept;

  // The program unloads a library of its own.
  void forget(FatBinary& binary) noexcept;

  // A line on stderr, once.
  void say_once(const std::string& what);
  // Says once what is not supported.
  cudaError_t unsupported(const std::string& what);

  // Reports the counters and closes the connections; calls fail from then on. Other threads may be
  // in the midst of some: all they use stays.
  void finish() noexcept;

 private:
  void connect();
  bool usable() const { return !finished_ && !forked_; }

  std::once_flag connected_;
  std::atomic<bool> begun_{false};  // to connect
  cudaError_t connecting_ = cudaSuccess;
  ClientSettings settings_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::mutex said_mutex_;
  std::set<std::string> said_;
  std::atomic<bool> finished_{false};
  // This process is a child of the one that connected, which goes on using the connections.
  std::atomic<bool> forked_{false};
};

// Lives as long as the process: programs call the runtime before main begins and after it has
// ended.
Runtime& runtime();

// cudaErrorNotSupported, as an entry point returns it.
int remember_unsupported(const char* entry_point) noexcept;

}  // namespace gpucast::remote::client

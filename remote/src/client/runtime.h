// What the CUDA runtime's interface forces to be one for the whole process: the servers, what the
// program registered, and what its handles and addresses stand for.
#pragma once

#include <driver_types.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/attachments.h"
#include "client/counters.h"
#include "client/gpu.h"
#include "client/memory_book.h"
#include "client/program.h"
#include "client/settings.h"
#include "client/status.h"

namespace gpucast::remote::client {

// An entry point that ends early.
class Failure : public std::exception {
 public:
  explicit Failure(cudaError_t its_error) : error(its_error) {}
  const char* what() const noexcept override { return error_text(error); }
  cudaError_t error;
};

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw Failure{error};
}
inline void require(Status status) {
  if (status != 0) throw Failure{to_error(status)};
}

// The objects that handles of streams and events point to.
struct StreamOfProgram {
  int device = 0;
  Id id = 0;
  unsigned flags = 0;
  int priority = 0;
};
struct EventOfProgram {
  int device = 0;
  Id id = 0;
  unsigned flags = 0;
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
  MemoryBook memory;
  Attachments attachments;

  // Connects to all servers the first time. Failure, said in a line on stderr once, if one cannot
  // be reached.
  int device_count();
  Gpu& gpu(int device);
  Gpu& current() { return gpu(this_thread().device); }
  bool synchronous() const { return settings_.synchronous; }

  OnStream stream(cudaStream_t handle);
  cudaStream_t add(StreamOfProgram stream);
  StreamOfProgram find(cudaStream_t handle) const;
  void remove(cudaStream_t handle);
  cudaEvent_t add(EventOfProgram event);
  EventOfProgram find(cudaEvent_t handle) const;
  void remove(cudaEvent_t handle);
  void forget_handles(int device);
  // Destroys the per-thread default streams of a thread that ends.
  void destroy(const std::map<int, OwnStream>& streams) noexcept;

  // The program unloads a library of its own.
  void forget(FatBinary& binary) noexcept;

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
  mutable std::shared_mutex handles_;
  std::unordered_map<const void*, std::unique_ptr<StreamOfProgram>> streams_;
  std::unordered_map<const void*, std::unique_ptr<EventOfProgram>> events_;
  std::mutex said_mutex_;
  std::vector<std::string> said_;
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

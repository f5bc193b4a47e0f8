// The state that the CUDA runtime's interface requires to be global: the servers, the program's
// registrations, and the meaning of its handles and addresses.
#pragma once

#include <driver_types.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "client/address_map.h"
#include "client/attachments.h"
#include "client/counters.h"
#include "client/gpu.h"
#include "client/graphs.h"
#include "client/handles.h"
#include "client/program.h"
#include "client/segments.h"
#include "client/settings.h"
#include "client/status.h"

namespace gpucast::remote::client {

// A stream and its GPU.
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

// The runtime's state of each thread.
struct ThreadState {
  ThreadState() = default;
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  int device = 0;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  std::vector<LaunchShape> shapes;       // of launches begun by <<<>>>
  std::map<int, OwnStream> own_streams;  // per-thread default streams, by device
};
ThreadState& this_thread();

class Runtime {
 public:
  Program program;
  Counters counters;
  AddressMap memory;
  Attachments attachments;
  Segments segments{gpus_};
  Handles<cudaStream_t> streams;
  Handles<cudaEvent_t> events;
  Graphs graphs;
  Pools pools;

  // Connects to all servers the first time. Failure, with one line on stderr, if one cannot be
  // reached.
  int device_count();
  Gpu& gpu(int device);
  Gpu& gpu(const DeviceObject& object) { return gpu(object.device); }
  Gpu& current() { return gpu(this_thread().device); }

  OnStream stream(cudaStream_t handle);
  // Destroys the per-thread default streams of a thread that ends.
  void destroy(const std::map<int, OwnStream>& own_streams) noexcept;

  // To be called when the program unloads one of its libraries.
  void forget(FatBinary& binary) noexcept;

  // Prints a line on stderr, once.
  void say_once(const std::string& what);
  // Reports an unsupported feature once.
  cudaError_t unsupported(const std::string& what);

  // Reports the counters and closes the connections; calls fail from then on. Other threads may be
  // inside calls: everything they use continues to exist.
  void finish() noexcept;

 private:
  void connect();
  bool usable() const { return !finished_ && !forked_; }

  std::once_flag connected_;
  std::atomic<bool> begun_{false};  // connecting has begun
  cudaError_t connecting_ = cudaSuccess;
  ClientSettings settings_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::mutex said_mutex_;
  std::set<std::string> said_;
  std::atomic<bool> finished_{false};
  // Whether this process is a child of the one that connected, which goes on using the connections.
  std::atomic<bool> forked_{false};
};

// Lives as long as the process: programs call the runtime before main begins and after it ends.
Runtime& runtime();

// Fails with an unsupported feature, and reports it once.
[[noreturn]] inline void refuse(const std::string& what) {
  throw Failure{runtime().unsupported(what)};
}
inline void refuse_if(bool refused, const char* what) {
  if (refused) refuse(what);
}

// Returns the device if it exists. Failure otherwise.
inline int existing(int device) {
  runtime().gpu(device);
  return device;
}

// Returns the error of an entry point that nothing defines (client/refusals.h).
int remember_unsupported(const char* entry_point) noexcept;

}  // namespace gpucast::remote::client

// What one client has on the GPU, and the calls that are done at once: they return their result,
// and throw DriverError.
#pragma once

#include <optional>
#include <string>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/graphs.h"
#include "server/memory.h"
#include "server/modules.h"
#include "server/pools.h"
#include "server/streams.h"

namespace gpucast::remote::server {

// Nothing of it is freed in the end: the process ends with the client, which frees all.
class Gpu {
 public:
  // Initializes the driver in this process. DriverError or std::runtime_error with one line.
  // Without a key it shares no memory with others, without a cache no images.
  Gpu(const std::string& library, int device, std::uint64_t most_memory,
      const std::optional<HostKey>& key, ImageCache* cache = nullptr);

  const Driver& driver() const { return driver_; }
  Streams& streams() { return streams_; }
  Graphs& graphs() { return graphs_; }
  DeviceInfo describe() const;
  // For each thread that calls the driver.
  void use_in_this_thread() const;
  // DriverError unless the client has all of this memory. Copies go nowhere else: where a GPU
  // reaches its host's memory, what a client says could be an address of anything.
  void require_held(Address address, std::uint64_t bytes) const;

  void run(const Reset&);
  void run(const Memset&);
  void run(const CopyWithin&);
  // All others are a part's.
  template <class Message>
  auto run(const Message& call) {
    if constexpr (requires { streams_.run(call); }) {
      return streams_.run(call);
    } else if constexpr (requires { memory_.run(call); }) {
      return memory_.run(call);
    } else if constexpr (requires { graphs_.run(call); }) {
      return graphs_.run(call);
    } else if constexpr (requires { pools_.run(call); }) {
      return pools_.run(call);
    } else {
      return modules_.run(call);
    }
  }

 private:
  void initialize(int device);
  CUresult copy_rows(const CopyWithin& call, CUstream on) const;

  Driver driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  Streams streams_;
  Memory memory_;
  Pools pools_;
  Modules modules_;
  Graphs graphs_;
};

}  // namespace gpucast::remote::server

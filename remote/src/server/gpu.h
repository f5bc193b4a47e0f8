// What one client has on the GPU, and the calls that are done at once. A status is the driver's.
#pragma once

#include <optional>
#include <string>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/memory.h"
#include "server/modules.h"
#include "server/streams.h"

namespace gpucast::remote::server {

class Gpu {
 public:
  // Initializes the driver in this process. DriverError or std::runtime_error with one line.
  // Without a key it shares no memory with others.
  Gpu(const std::string& library, int device, std::uint64_t most_memory,
      const std::optional<HostKey>& key);
  ~Gpu() = default;  // the process ends with the client; that frees all
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  Streams& streams() { return streams_; }
  DeviceInfo describe() const;
  // For each thread that calls the driver.
  void use_in_this_thread() const;
  // Whether the client has all of this memory. Copies go nowhere else: where a GPU reaches its
  // host's memory, what a client says could be an address of anything.
  bool holds(Address address, std::uint64_t bytes) const;

  CUresult run(const Reset&, Nothing&);
  CUresult run(const Memset&, Nothing&);
  CUresult run(const CopyWithin&, Nothing&);
  // All others are a part's.
  template <class Message, class Result>
  CUresult run(const Message& call, Result& result) {
    if constexpr (requires { streams_.run(call, result); }) {
      return streams_.run(call, result);
    } else if constexpr (requires { memory_.run(call, result); }) {
      return memory_.run(call, result);
    } else {
      return modules_.run(call, result);
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
  Modules modules_;
};

}  // namespace gpucast::remote::server

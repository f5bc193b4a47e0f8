// One client's state on the GPU, and the calls that are done at once: they return their result or
// throw DriverError.
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/graphs.h"
#include "server/memory.h"
#include "server/modules.h"
#include "server/streams.h"

namespace gpucast::remote::server {

class Gpu;

// Calls without state. Such a call is a function of gpu.cpp and needs no line here: it is declared
// for every message of the list.
template <class Message>
using AnswerTo =
    std::conditional_t<std::is_same_v<ResultOf<Message>, Nothing>, void, ResultOf<Message>>;
#define GPUCAST_ANSWER(Message, ...) AnswerTo<Message> answer(Gpu& gpu, const Message& call);
GPUCAST_CALLS(GPUCAST_ANSWER)
#undef GPUCAST_ANSWER

// Nothing is freed at the end: the process ends with the client, which frees everything.
class Gpu {
 public:
  // Initializes the driver in this process. Throws DriverError or std::runtime_error with one line.
  // Without a key it shares no memory with other servers, and without a cache no images.
  Gpu(const std::string& library, int device, std::uint64_t most_memory,
      const std::optional<HostKey>& key, ImageCache* cache = nullptr);

  const Driver& driver() const { return driver_; }
  Streams& streams() { return streams_; }
  Graphs& graphs() { return graphs_; }
  DeviceInfo describe() const;
  // To be called by each thread that calls the driver.
  void use_in_this_thread() const;
  // Throws DriverError unless the client owns all of this memory. Copies go nowhere else: where a
  // GPU reaches its host's memory, an address from the client could point anywhere.
  void require_held(Address address, std::uint64_t bytes) const;

  void run(const Reset&);
  // All other calls belong to a part, or have no state.
  template <class Message>
  auto run(const Message& call) {
    if constexpr (requires { streams_.run(call); })
      return streams_.run(call);
    else if constexpr (requires { memory_.run(call); })
      return memory_.run(call);
    else if constexpr (requires { graphs_.run(call); })
      return graphs_.run(call);
    else if constexpr (requires { modules_.run(call); })
      return modules_.run(call);
    else
      return answer(*this, call);
  }

 private:
  void initialize(int device);

  Driver driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  Streams streams_;
  Memory memory_;
  Modules modules_;
  Graphs graphs_;
};

}  // namespace gpucast::remote::server

// Functions of the client's program that stand in its streams: a stream that has come to one waits
// until the client says that it has run. They have a connection of their own, since the session's
// thread may wait for the GPU, and the GPU for them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/streams.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

class HostFunctions {
 public:
  HostFunctions() = default;
  ~HostFunctions();
  HostFunctions(const HostFunctions&) = delete;
  HostFunctions& operator=(const HostFunctions&) = delete;

  // From any thread. There is one.
  void add(std::unique_ptr<Connection> connection);
  // Queues it on the stream. DriverError where that cannot be; the client is told that it never
  // runs.
  void queue(const Driver& driver, Streams& streams, const LaunchHost& call);

 private:
  // In a thread of the driver's: returns once it has run, or the client is gone.
  void run(Id function);
  void tell(const HostTurn& turn);
  void listen() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Connection> connection_;
  bool broken_ = false;
  std::set<Id> done_;
  std::mutex telling_;
  std::thread listener_;
};

}  // namespace gpucast::remote::server

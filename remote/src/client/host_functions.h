// Functions of the program that stand in the streams of one GPU. A thread of the library's runs
// them when the server says that their stream has come to them.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "client/pending_receives.h"
#include "protocol/calls.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

class HostFunctions {
 public:
  // Whether this thread runs one: it may not call the runtime.
  static bool in_one();

  HostFunctions() = default;
  ~HostFunctions() { close(); }
  HostFunctions(const HostFunctions&) = delete;
  HostFunctions& operator=(const HostFunctions&) = delete;

  // With a status other than 0 the GPU has failed, and its stream never comes to the function.
  using Body = std::function<void(Status)>;
  // Waits for what the stream brings to the program's memory before.
  using Arrive = std::function<void(const Which&)>;
  // `connect`: a connection for them, the first time; `lost` is told why it broke.
  void open(const std::function<std::unique_ptr<Connection>()>& connect, Arrive arrive,
            std::function<void(const std::string&)> lost);
  // One more, known by the id of a transfer of nothing. `data`: what has to arrive before.
  void expect(const PendingReceive& place, Which data, Body body);
  // Whether there is any that has not run.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // Waits until none of these is left; returns at once where the server is lost.
  void wait_for(const Which& which);
  // These never run.
  void forget(const Which& which);
  // From any thread: no more is run.
  void shut_down() noexcept;
  // Waits, after that, for the thread, unless it runs a function of the program's.
  void close() noexcept;

 private:
  struct Expected {
    PendingReceive place;
    Which data;
    Body body;
  };
  void serve();
  void remove_locked(Id id);

  Arrive arrive_;
  std::function<void(const std::string&)> lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Connection> connection_;
  std::map<Id, Expected> expected_;
  std::atomic<std::size_t> count_{0};
  bool over_ = false;
  bool running_ = false;
  std::thread thread_;
};

}  // namespace gpucast::remote::client

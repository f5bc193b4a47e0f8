// Host functions of the client's program in its streams: a stream that reaches one waits until the
// client reports that it has run. They have a connection of their own, since the session's thread
// may wait for the GPU, and the GPU for them.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "protocol/calls.h"
#include "protocol/inbox.h"
#include "server/driver.h"
#include "server/streams.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

class HostFunctions {
 public:
  ~HostFunctions() {
    if (connection_) connection_->shut_down();
    if (listener_.joinable()) listener_.join();
  }

  // May be called from any thread. There is one connection.
  void add(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    if (connection_) return;
    connection_ = std::move(connection);
    listener_ = std::thread([this] { listen(); });
    changed_.notify_all();
  }
  // Queues the function on the stream. Throws DriverError if that fails; the client is told that it
  // never runs.
  void queue(const Driver& driver, Streams& streams, const LaunchHost& call) {
    struct Turn {
      HostFunctions* functions;
      Id function;
    };
    const CUresult status = status_of([&] {
      auto turn = std::make_unique<Turn>(Turn{.functions = this, .function = call.function});
      check(driver.cuLaunchHostFunc(
          streams.stream(call.stream),
          [](void* data) {
            const std::unique_ptr<Turn> its(static_cast<Turn*>(data));
            its->functions->run(its->function);
          },
          turn.get()));
      // Now owned by the driver's thread.
      [[maybe_unused]] const Turn* const given = turn.release();
    });
    if (status == CUDA_SUCCESS) return;
    tell({.function = call.function, .status = status});
    throw DriverError(status);
  }

 private:
  // Called by a thread of the driver: returns once the function has run, or the client is gone.
  void run(Id function) {
    tell({.function = function});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return broken_ || done_.contains(function); });
    done_.erase(function);
  }
  void tell(const HostTurn& turn) {
    Connection* connection = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return broken_ || connection_; });
      if (broken_) return;
      connection = connection_.get();
    }
    const std::lock_guard telling(telling_);
    try {
      write_all(*connection, packed(turn));
    } catch (const std::exception&) {
      connection->shut_down();  // its listener reports the reason
    }
  }
  void listen() noexcept {
    try {
      for (;;) {
        const auto done = read_message<HostDone>(*connection_);
        const std::lock_guard lock(mutex_);
        done_.insert(done.function);
        changed_.notify_all();
      }
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      broken_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Connection> connection_;
  bool broken_ = false;
  std::set<Id> done_;
  std::mutex telling_;
  std::thread listener_;
};

}  // namespace gpucast::remote::server

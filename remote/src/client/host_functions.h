// Functions of the program that stand in the streams of one GPU. A thread of the library's runs
// them when the server says that their stream has come to them.
#pragma once

#include <driver_types.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "client/pending_receives.h"
#include "client/quiet_thread.h"
#include "protocol/calls.h"
#include "protocol/handshake.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

class HostFunctions {
 public:
  // Whether this thread runs one: it may not call the runtime.
  static bool in_one() { return runs_one(); }

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
            std::function<void(const std::string&)> lost) {
    const std::lock_guard lock(mutex_);
    if (connection_ || over_) return;
    connection_ = connect();
    arrive_ = std::move(arrive);
    lost_ = std::move(lost);
    thread_ = quiet_thread([this] { serve(); });
  }
  // One more, known by the id of a transfer of nothing. `data`: what has to arrive before.
  void expect(const PendingReceive& place, Which data, Body body) {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    expected_[place.transfer] = {.place = place, .data = std::move(data), .body = std::move(body)};
    count_ = expected_.size();
  }
  // Whether there is any that has not run.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // Waits until none of these is left; returns at once where the server is lost.
  void wait_for(const Which& which) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return over_ || std::ranges::none_of(
                          expected_, [&](const auto& entry) { return which(entry.second.place); });
    });
  }
  // These never run.
  void forget(const Which& which) {
    if (!any()) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(expected_, [&](const auto& entry) { return which(entry.second.place); });
    count_ = expected_.size();
    changed_.notify_all();
  }
  // From any thread: no more is run.
  void shut_down() noexcept {
    const std::lock_guard lock(mutex_);
    over_ = true;
    expected_.clear();
    count_ = 0;
    changed_.notify_all();
    if (connection_) connection_->shut_down();
  }
  // Waits, after that, for the thread, unless it runs a function of the program's.
  void close() noexcept {
    shut_down();
    bool busy = false;
    {
      const std::lock_guard lock(mutex_);
      busy = running_;
    }
    if (!thread_.joinable()) return;
    if (busy) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

 private:
  static bool& runs_one() {
    static thread_local bool result = false;
    return result;
  }

  struct Expected {
    PendingReceive place;
    Which data;
    Body body;
  };
  // The function counts as not run until the server knows, so that who waits for it may then wait
  // for the GPU.
  void serve() {
    try {
      for (;;) {
        std::array<std::byte, HostTurn::size> bytes{};
        read_all(*connection_, bytes);
        const auto turn = decode<HostTurn>(bytes);
        Expected its;
        {
          const std::lock_guard lock(mutex_);
          if (const Expected* expected = value_at(expected_, turn.function)) its = *expected;
        }
        if (its.body) {
          if (turn.status == 0) arrive_(its.data);
          {
            const std::lock_guard lock(mutex_);
            if (over_) return;
            running_ = true;
          }
          runs_one() = true;
          its.body(turn.status);
          runs_one() = false;
        }
        if (turn.status == 0) write_all(*connection_, packed(HostDone{.function = turn.function}));
        const std::lock_guard lock(mutex_);
        running_ = false;
        expected_.erase(turn.function);
        count_ = expected_.size();
        changed_.notify_all();
        if (over_) return;
      }
    } catch (const std::exception& error) {
      lost_(error.what());
    }
  }

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

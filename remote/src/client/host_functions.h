// Host functions of the program in the streams of one GPU. A thread of the library runs them when
// the server reports that their stream has reached them.
#pragma once

#include <driver_types.h>
#include <algorithm>
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
#include "gpucast/support/quiet_thread.h"
#include "protocol/calls.h"
#include "protocol/inbox.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

class HostFunctions {
 public:
  // Whether this thread is running one: it must not call the runtime then.
  static bool in_one() { return in_one_; }

  ~HostFunctions() { close(); }

  // A status other than 0: the GPU has failed, and its stream never reaches the function.
  using Body = std::function<void(Status)>;
  // Waits until the data that the stream brings before has arrived in the program's memory.
  using Arrive = std::function<void(const Which&)>;
  // `connect` makes their connection when it is first needed; `lost` receives the reason if it
  // breaks.
  void open(const std::function<std::unique_ptr<Connection>()>& connect, Arrive arrive,
            std::function<void(const std::string&)> lost) {
    const std::lock_guard lock(mutex_);
    if (connection_ || over_) return;
    connection_ = connect();
    arrive_ = std::move(arrive);
    lost_ = std::move(lost);
    thread_ = support::quiet_thread([this] { serve(); });
  }
  // Adds a function, which is known by the id of an empty transfer. `data`: what has to arrive
  // before it runs.
  void expect(const PendingReceive& place, Which data, Body body) {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    expected_[place.transfer] = {.place = place, .data = std::move(data), .body = std::move(body)};
    count_ = expected_.size();
  }
  // Whether any function has not run yet.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // Waits until none of the selected ones is left; returns at once if the server is lost.
  void wait_for(const Which& which) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return over_ || std::ranges::none_of(
                          expected_, [&](const auto& entry) { return which(entry.second.place); });
    });
  }
  // The selected functions never run.
  void forget(const Which& which) {
    if (!any()) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(expected_, [&](const auto& entry) { return which(entry.second.place); });
    count_ = expected_.size();
    changed_.notify_all();
  }
  // May be called from any thread: no more functions are run.
  void shut_down() noexcept {
    const std::lock_guard lock(mutex_);
    over_ = true;
    expected_.clear();
    count_ = 0;
    changed_.notify_all();
    if (connection_) connection_->shut_down();
  }
  // To be called after that: waits for the thread, unless it is running a function of the program.
  void close() noexcept {
    shut_down();
    bool busy = false;
    {
      const std::lock_guard lock(mutex_);
      busy = running_;
    }
    if (!thread_.joinable()) return;
    if (busy)
      thread_.detach();
    else
      thread_.join();
  }

 private:
  static inline constinit thread_local bool in_one_ = false;

  struct Expected {
    PendingReceive place;
    Which data;
    Body body;
  };
  // A function counts as not run until the server knows that it has run, so that a thread that has
  // waited for it may then wait for the GPU.
  void serve() {
    try {
      for (;;) {
        const auto turn = read_message<HostTurn>(*connection_);
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
          in_one_ = true;
          its.body(turn.status);
          in_one_ = false;
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

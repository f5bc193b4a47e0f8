// Data on its way to the program's memory, which copies announced.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "protocol/calls.h"

namespace gpucast::remote::client {

// The data that one copy brings to the program's memory.
struct PendingReceive {
  Id transfer = 0;
  Id stream = 0;
  bool apart = false;  // its stream does not wait for the default one
  std::byte* to = nullptr;
  std::size_t bytes = 0;
  std::size_t piece = 0;  // 0: not in pieces
};

// Selects the receives that a call waits for.
using Which = std::function<bool(const PendingReceive&)>;

class PendingReceives {
 public:
  // `over_control`: the control connection brings it, for which someone has to read; else a bulk
  // connection's own thread.
  void expect(const PendingReceive& arrival, bool over_control);

  // Where to put so many bytes of a copy; the copy is not over while this lives. Those that it does
  // not put there make the copy fail.
  class Landing {
   public:
    Landing(PendingReceives& receives, Id transfer, std::uint64_t offset, std::size_t bytes);
    ~Landing();
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;
    // nullptr where nothing is to be put: the copy has failed, or was not announced so.
    std::byte* to() const { return to_; }
    // Whether nothing is missing behind it.
    bool is_whole() const { return is_last_; }
    void done() { done_ = true; }

   private:
    PendingReceives& receives_;
    Id transfer_;
    std::byte* to_ = nullptr;
    bool is_last_ = false;
    bool done_ = false;
  };
  void failed(Id transfer, Status status);
  // Latches the failure of a call that announced no data.
  void note_failure(Status status);

  // All of these are there, as who waited for their streams knows.
  void arrived(const Which& which);
  // Makes every later Landing empty.
  void give_up();

  bool nothing() const;
  bool none_over_control(const Which& which) const;
  bool none(const Which& which) const;
  // Waits until the bulk connections have brought it, and calls `meanwhile` now and then.
  // Looks so long for it before it sleeps. False if they never will; nothing is written any more
  // then.
  bool wait_for_bulk(const Which& which, const std::function<void()>& meanwhile,
                     std::chrono::microseconds spin = {});
  // Waits, after give_up(), until no thread writes into the program's memory any more.
  void wait_for_landings();
  // The status of the first failure since the last call of this function; 0: none.
  Status take_failure();

 private:
  struct Transfer {
    PendingReceive arrival;
    std::size_t left = 0;  // bytes that have no Landing yet
    int landings = 0;
    bool failed = false;
  };
  using Transfers = std::map<Id, Transfer>;
  Transfer* find(Id transfer);
  void end_if_over(const Transfer& transfer);
  void tell() {
    ++changes_;
    changed_.notify_all();
  }
  static bool none(const Transfers& transfers, const Which& which);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> changes_{0};
  Transfers over_control_;
  Transfers over_bulk_;
  int landings_ = 0;
  bool given_up_ = false;
  Status failure_ = 0;
};

// What a server tells of copies that no answer tells of: that their memory is used no more. From
// any thread.
class Notices {
 public:
  void expect(Id transfer) {
    const std::lock_guard lock(mutex_);
    expected_[transfer] = std::nullopt;
  }
  // What came; false where it was not expected.
  bool take(Id transfer, Status status) {
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(transfer);
    if (found == expected_.end() || found->second) return false;
    found->second = status;
    return true;
  }
  // The status of one that has come, which is then forgotten.
  std::optional<Status> come(Id transfer) {
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(transfer);
    if (found == expected_.end()) return std::nullopt;
    const std::optional<Status> status = found->second;
    if (status) expected_.erase(found);
    return status;
  }

 private:
  std::mutex mutex_;
  std::map<Id, std::optional<Status>> expected_;
};

}  // namespace gpucast::remote::client

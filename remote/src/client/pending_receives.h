// Data on its way to the program's memory, which copies announced.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "client/status.h"
#include "protocol/calls.h"
#include "transport/patience.h"

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
  void expect(const PendingReceive& arrival, bool over_control) {
    const std::lock_guard lock(mutex_);
    transfers_[arrival.transfer] = {
        .arrival = arrival, .over_control = over_control, .left = arrival.bytes};
  }

  // Where to put some bytes of a copy; the copy is not over while this lives. Those that it does
  // not put there make the copy fail.
  class Landing {
   public:
    Landing(PendingReceives& receives, Id transfer, std::uint64_t offset, std::size_t bytes)
        : receives_(receives), transfer_(transfer) {
      const std::lock_guard lock(receives.mutex_);
      const auto at = receives.transfers_.find(transfer);
      if (at == receives.transfers_.end() || at->second.failed || receives.given_up_) return;
      auto& [arrival, over_control, left, landings, failed] = at->second;
      if (offset > arrival.bytes || bytes > arrival.bytes - offset || bytes > left) return;
      left -= bytes;
      ++landings;
      ++receives.landings_;
      to_ = arrival.to + offset;
      is_last_ = left == 0;
    }
    ~Landing() {
      if (to_ == nullptr) return;
      const std::lock_guard lock(receives_.mutex_);
      Transfer& transfer = receives_.transfers_.at(transfer_);  // it stays while this lives
      --transfer.landings;
      --receives_.landings_;
      if (!done_) transfer.failed = true;
      receives_.end_if_over(transfer);
    }
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
  void failed(Id transfer, Status status) {
    const std::lock_guard lock(mutex_);
    const auto at = transfers_.find(transfer);
    if (at == transfers_.end()) return;
    if (failure_ == 0) failure_ = status;
    at->second.failed = true;
    end_if_over(at->second);
  }
  // Latches the failure of a call that announced no data.
  void note_failure(Status status) {
    const std::lock_guard lock(mutex_);
    if (failure_ == 0) failure_ = status;
  }

  // All of these are there, as who waited for their streams knows.
  void arrived(const Which& which) {
    const std::lock_guard lock(mutex_);
    std::erase_if(transfers_, [&](const auto& entry) { return which(entry.second.arrival); });
  }
  // Makes every later Landing empty.
  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    tell();
  }

  bool nothing() const {
    const std::lock_guard lock(mutex_);
    return transfers_.empty();
  }
  bool none_over_control(const Which& which) const {
    const std::lock_guard lock(mutex_);
    return none_locked(which, true);
  }
  bool none(const Which& which) const {
    const std::lock_guard lock(mutex_);
    return none_locked(which, true) && none_locked(which, false);
  }
  // Waits until the bulk connections have brought it, and calls `meanwhile` now and then. It looks
  // for it for as long as `spin` before it sleeps. False if they never will; nothing is written any
  // more then.
  bool wait_for_bulk(const Which& which, const std::function<void()>& meanwhile,
                     std::chrono::microseconds spin = {}) {
    constexpr std::chrono::milliseconds moment(1);
    const auto over = [&] { return none_locked(which, false) || (given_up_ && landings_ == 0); };
    // Asked again only where something has changed, so that who brings the data is not held up.
    std::optional<std::uint64_t> seen;
    look_for(spin, meanwhile, [&] {
      const std::uint64_t now = changes_;
      if (seen == now) return false;
      seen = now;
      const std::lock_guard lock(mutex_);
      return over();
    });
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, moment, over)) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
    return none_locked(which, false);
  }
  // Waits, after give_up(), until no thread writes into the program's memory any more.
  void wait_for_landings() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return landings_ == 0; });
  }
  // The status of the first failure since the last call of this function; 0: none.
  Status take_failure() {
    const std::lock_guard lock(mutex_);
    return std::exchange(failure_, 0);
  }

 private:
  struct Transfer {
    PendingReceive arrival;
    bool over_control = false;
    std::size_t left = 0;  // bytes that have no Landing yet
    int landings = 0;
    bool failed = false;
  };
  // Other bulk connections may still write what came before the failure.
  void end_if_over(const Transfer& transfer) {
    if (transfer.landings == 0 && (transfer.failed || transfer.left == 0))
      transfers_.erase(Id{transfer.arrival.transfer});
    tell();
  }
  void tell() {
    ++changes_;
    changed_.notify_all();
  }
  bool none_locked(const Which& which, bool over_control) const {
    return std::ranges::none_of(transfers_, [&](const auto& entry) {
      return entry.second.over_control == over_control && which(entry.second.arrival);
    });
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> changes_{0};
  std::map<Id, Transfer> transfers_;
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
    std::optional<Status>* const expected = value_at(expected_, transfer);
    if (expected == nullptr || *expected) return false;
    *expected = status;
    return true;
  }
  // The status of one that has come, which is then forgotten.
  std::optional<Status> come(Id transfer) {
    const std::lock_guard lock(mutex_);
    const auto at = expected_.find(transfer);
    if (at == expected_.end() || !at->second) return std::nullopt;
    return expected_.extract(at).mapped();
  }

 private:
  std::mutex mutex_;
  std::map<Id, std::optional<Status>> expected_;
};

}  // namespace gpucast::remote::client

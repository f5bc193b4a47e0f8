// Data of copies that have been announced and is on its way to the program's memory.
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
  // `over_control`: the control connection brings it, which some thread has to read; otherwise a
  // bulk connection's own thread does.
  void expect(const PendingReceive& arrival, bool over_control) {
    const std::lock_guard lock(mutex_);
    transfers_[arrival.transfer] = {
        .arrival = arrival, .over_control = over_control, .left = arrival.bytes};
  }

  // The destination of some bytes of a copy, which is not complete as long as this exists. If some
  // of the bytes are not written there, the copy fails.
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
      // Keeps its address while this exists.
      Transfer& transfer = receives_.transfers_.at(transfer_);
      --transfer.landings;
      --receives_.landings_;
      if (!done_) transfer.failed = true;
      receives_.end_if_over(transfer);
    }
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;
    // nullptr if nothing is to be written: the copy has failed or was not announced.
    std::byte* to() const { return to_; }
    // Whether this is the last missing part.
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

  // The selected data has arrived, as the caller knows from waiting for its streams.
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
  // Waits until the bulk connections have brought the data, and calls `meanwhile` from time to
  // time. Polls for `spin` before it sleeps. Returns false if the data will never arrive; nothing
  // is written then.
  bool wait_for_bulk(const Which& which, const std::function<void()>& meanwhile,
                     std::chrono::microseconds spin = {}) {
    constexpr std::chrono::milliseconds moment(1);
    const auto over = [&] { return none_locked(which, false) || (given_up_ && landings_ == 0); };
    // Tests again only after a change, so that the threads that bring the data are not delayed.
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
  // To be called after give_up(): waits until no thread writes into the program's memory.
  void wait_for_landings() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return landings_ == 0; });
  }
  // Returns the status of the first failure since the last call of this function, or 0.
  Status take_failure() {
    const std::lock_guard lock(mutex_);
    return std::exchange(failure_, 0);
  }

 private:
  struct Transfer {
    PendingReceive arrival;
    bool over_control = false;
    std::size_t left = 0;  // bytes without a Landing so far
    int landings = 0;
    bool failed = false;
  };
  // After a failure, other bulk connections may still write data that arrived before.
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

// The server's notices that a copy no longer uses its memory, for copies that have no answer. May
// be called from any thread.
class Notices {
 public:
  void expect(Id transfer) {
    const std::lock_guard lock(mutex_);
    expected_[transfer] = std::nullopt;
  }
  // Records a notice; returns false if it was not expected.
  bool take(Id transfer, Status status) {
    const std::lock_guard lock(mutex_);
    std::optional<Status>* const expected = value_at(expected_, transfer);
    if (expected == nullptr || *expected) return false;
    *expected = status;
    return true;
  }
  // Returns and forgets the status of one that has arrived.
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

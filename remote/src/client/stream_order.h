// For each stream, the announced data that has arrived once the stream's work is finished: data of
// its own copies, and of the streams that it waited for. Other data may still be on its way then.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "client/pending_receives.h"

namespace gpucast::remote::client {

class StreamOrder {
 public:
  // `apart`: neither the stream nor the default stream waits for the other.
  void create(Id stream, bool apart) {
    if (!apart) return;
    const std::lock_guard lock(mutex_);
    apart_.insert(stream);
  }
  void destroy(Id stream) {
    const std::lock_guard lock(mutex_);
    if (apart_.erase(stream) != 0) joined_.erase(stream);
  }
  bool apart(Id stream) const {
    const std::lock_guard lock(mutex_);
    return apart_.contains(stream);
  }
  void forget_all() {
    const std::lock_guard lock(mutex_);
    apart_.clear();
    records_.clear();
    joined_.clear();
  }

  // The default stream gets work: streams that do not stand apart then continue after one another's
  // work. `now`: everything announced before has a lower id.
  void meet(Id now) { met_.store(now, std::memory_order_relaxed); }
  void record(Id event, Id stream, Id now) {
    const std::lock_guard lock(mutex_);
    records_[event] = {.now = now, .before = before_locked(stream, now)};
  }
  void forget_event(Id event) {
    const std::lock_guard lock(mutex_);
    records_.erase(event);
  }
  void wait(Id stream, Id event) {
    const std::lock_guard lock(mutex_);
    const Record* const record = value_at(records_, event);
    if (record == nullptr) return;
    Id& joined = joined_[group(stream)];
    joined = std::max(joined, record->now);
  }

  // Selects the data that arrives before the stream's present work is finished, or before the event
  // is recorded.
  Which before(Id stream, Id now) const {
    const std::lock_guard lock(mutex_);
    return before_locked(stream, now);
  }
  Which before_event(Id event) const {
    const std::lock_guard lock(mutex_);
    const Record* const record = value_at(records_, event);
    return record != nullptr ? record->before : [](const PendingReceive&) { return false; };
  }

 private:
  struct Record {
    Id now = 0;
    Which before = {};
  };
  Which before_locked(Id stream, Id now) const {
    const bool apart = apart_.contains(stream);
    const Id* const wait = value_at(joined_, group(stream));
    const Id joined = wait == nullptr ? 0 : *wait;
    return [=, met = met_.load(std::memory_order_relaxed)](const PendingReceive& receive) {
      if (receive.transfer >= now) return false;
      if (receive.stream == stream || receive.transfer < joined) return true;
      if (apart || receive.apart) return false;
      return stream == legacy_stream || receive.stream == legacy_stream || receive.transfer < met;
    };
  }
  Id group(Id stream) const { return apart_.contains(stream) ? stream : legacy_stream; }

  mutable std::mutex mutex_;
  std::unordered_set<Id> apart_;
  std::unordered_map<Id, Record> records_;
  // Everything below these ids was waited for; streams that do not stand apart share one value.
  std::unordered_map<Id, Id> joined_;
  std::atomic<Id> met_{0};
};

}  // namespace gpucast::remote::client

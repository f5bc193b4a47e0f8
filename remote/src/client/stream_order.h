// For each stream, the announced data that has arrived once the stream's work is done: data of its
// own copies, and of the streams that it waited for. Other data may still be on its way then.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "client/pending_receives.h"

namespace gpucast::remote::client {

class StreamOrder {
 public:
  // `apart`: it neither waits for the default stream nor is waited for by it.
  void create(Id stream, bool apart);
  void destroy(Id stream);
  bool apart(Id stream) const;
  void forget_all();

  // The default stream is given work: those that do not stand apart go on after one another's.
  // `now`: all that was announced before has a lower id.
  void meet(Id now) { met_.store(now, std::memory_order_relaxed); }
  void record(Id event, Id stream, Id now);
  void forget_event(Id event);
  void wait(Id stream, Id event);

  // The data that arrives before the stream's present work is done, or before the event is
  // recorded.
  Which before(Id stream, Id now) const;
  Which before_event(Id event) const;

 private:
  Which before_locked(Id stream, Id now) const;
  Id group(Id stream) const { return apart_.contains(stream) ? stream : legacy_stream; }

  struct Record {
    Id now = 0;
    Which before = {};
  };
  mutable std::mutex mutex_;
  std::unordered_set<Id> apart_;
  std::unordered_map<Id, Record> records_;
  // Everything below was waited for; of those that do not stand apart together.
  std::unordered_map<Id, Id> joined_;
  std::atomic<Id> met_{0};
};

}  // namespace gpucast::remote::client

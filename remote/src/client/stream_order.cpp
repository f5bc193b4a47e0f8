#include "client/stream_order.h"

#include <algorithm>

namespace gpucast::remote::client {

void StreamOrder::create(Id stream, bool apart) {
  if (!apart) return;
  const std::lock_guard lock(mutex_);
  apart_.insert(stream);
}

void StreamOrder::destroy(Id stream) {
  const std::lock_guard lock(mutex_);
  if (apart_.erase(stream) != 0) joined_.erase(stream);
}

bool StreamOrder::apart(Id stream) const {
  const std::lock_guard lock(mutex_);
  return apart_.contains(stream);
}

void StreamOrder::forget_all() {
  const std::lock_guard lock(mutex_);
  apart_.clear();
  records_.clear();
  joined_.clear();
}

void StreamOrder::record(Id event, Id stream, Id now) {
  const std::lock_guard lock(mutex_);
  records_[event] = {.now = now, .before = before_locked(stream, now)};
}

void StreamOrder::forget_event(Id event) {
  const std::lock_guard lock(mutex_);
  records_.erase(event);
}

void StreamOrder::wait(Id stream, Id event) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(event);
  if (found == records_.end()) return;
  Id& joined = joined_[group(stream)];
  joined = std::max(joined, found->second.now);
}

Which StreamOrder::before(Id stream, Id now) const {
  const std::lock_guard lock(mutex_);
  return before_locked(stream, now);
}

Which StreamOrder::before_locked(Id stream, Id now) const {
  const bool apart = apart_.contains(stream);
  const auto found = joined_.find(group(stream));
  const Id joined = found == joined_.end() ? 0 : found->second;
  return [=, met = met_.load(std::memory_order_relaxed)](const PendingReceive& each) {
    if (each.transfer >= now) return false;
    if (each.stream == stream || each.transfer < joined) return true;
    if (apart || each.apart) return false;
    return stream == legacy_stream || each.stream == legacy_stream || each.transfer < met;
  };
}

Which StreamOrder::before_event(Id event) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(event);
  if (found == records_.end()) return [](const PendingReceive&) { return false; };
  return found->second.before;
}

}  // namespace gpucast::remote::client

#include "client/event_times.h"

#include <algorithm>
#include <cmath>

namespace gpucast::remote::client {
namespace {

bool has(const EventPair& pair, Id event) { return pair.begin == event || pair.end == event; }

const auto pair_of = [](const auto& known) { return known.wanted.pair; };

}  // namespace

std::optional<float> EventTimes::known(EventPair pair) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(pairs_, pair, pair_of);
  return found == pairs_.end() ? std::nullopt : found->milliseconds;
}

EventTimes::Wanted EventTimes::want(EventPair pair) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(pairs_, pair, pair_of);
  if (found != pairs_.end()) return found->wanted;
  if (pairs_.size() == most_pairs) pairs_.erase(pairs_.begin());
  pairs_.push_back({.wanted = {.pair = pair, .records = ++last_records_}});
  return pairs_.back().wanted;
}

std::vector<EventTimes::Wanted> EventTimes::wanted() const {
  std::vector<Wanted> result;
  const std::lock_guard lock(mutex_);
  for (const KnownPair& each : pairs_) {
    if (!each.milliseconds) result.push_back(each.wanted);
  }
  return result;
}

void EventTimes::keep(const std::vector<Wanted>& pairs, const Elapsed& elapsed) {
  if (pairs.size() != elapsed.milliseconds.size()) throw ProtocolError("distances of other events");
  const std::lock_guard lock(mutex_);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (std::isnan(elapsed.milliseconds[k])) continue;
    for (KnownPair& each : pairs_) {
      if (each.wanted.pair == pairs[k].pair && each.wanted.records == pairs[k].records)
        each.milliseconds = elapsed.milliseconds[k];
    }
  }
}

void EventTimes::recorded(Id event) {
  const std::lock_guard lock(mutex_);
  for (KnownPair& each : pairs_) {
    if (!has(each.wanted.pair, event)) continue;
    each.milliseconds.reset();
    each.wanted.records = ++last_records_;
  }
}

void EventTimes::forget(Id event) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pairs_, [&](const KnownPair& each) { return has(each.wanted.pair, event); });
}

}  // namespace gpucast::remote::client

// Elapsed times between events that the program reads repeatedly: they arrive with its
// synchronizations, without a round trip of their own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "protocol/calls.h"

namespace gpucast::remote::client {

class EventTimes {
 public:
  // A pair, and the number of its events' last records, which changes with each record.
  struct Wanted {
    EventPair pair = {};
    std::uint64_t records = 0;
    bool operator==(const Wanted&) const = default;
  };

  std::optional<float> known(EventPair pair) const {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(pairs_, pair, pair_of);
    return at == pairs_.end() ? std::nullopt : at->milliseconds;
  }
  // Requests the time between these events with every synchronization from now on.
  Wanted want(EventPair pair) {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(pairs_, pair, pair_of);
    if (at != pairs_.end()) return at->wanted;
    if (pairs_.size() == most_pairs) pairs_.erase(pairs_.begin());
    pairs_.push_back({.wanted = {.pair = pair, .records = ++last_records_}});
    return pairs_.back().wanted;
  }
  // Returns the pairs whose times are not known. To be called while nothing else can be sent: the
  // server answers for the records that were sent before.
  std::vector<Wanted> wanted() const {
    std::vector<Wanted> result;
    const std::lock_guard lock(mutex_);
    for (const auto& [wanted, milliseconds] : pairs_)
      if (!milliseconds) result.push_back(wanted);
    return result;
  }
  // ProtocolError if the answer is about other pairs.
  void keep(const std::vector<Wanted>& wanted, const Elapsed& elapsed) {
    if (wanted.size() != elapsed.milliseconds.size())
      throw ProtocolError("distances of other events");
    const std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const auto at = std::ranges::find(pairs_, wanted[k], &KnownPair::wanted);
      if (at == pairs_.end() || std::isnan(elapsed.milliseconds[k])) continue;
      at->milliseconds = elapsed.milliseconds[k];
    }
  }

  void recorded(Id event) {
    const std::lock_guard lock(mutex_);
    for (KnownPair& known : pairs_)
      if (has(known, event)) known = {.wanted = {known.wanted.pair, ++last_records_}};
  }
  void forget(Id event) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pairs_, [&](const KnownPair& known) { return has(known, event); });
  }

 private:
  struct KnownPair {
    Wanted wanted = {};
    std::optional<float> milliseconds = {};
  };
  static EventPair pair_of(const KnownPair& known) { return known.wanted.pair; }
  static bool has(const KnownPair& known, Id event) {
    return known.wanted.pair.begin == event || known.wanted.pair.end == event;
  }

  mutable std::mutex mutex_;
  std::uint64_t last_records_ = 0;
  std::vector<KnownPair> pairs_;
};

}  // namespace gpucast::remote::client

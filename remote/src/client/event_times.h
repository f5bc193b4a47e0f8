// Distances between events that the program asks for again and again: they come with its
// synchronizations, without a round trip of their own.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "protocol/calls.h"

namespace gpucast::remote::client {

class EventTimes {
 public:
  // A pair, and the number of its events' last records: another one after each.
  struct Wanted {
    EventPair pair = {};
    std::uint64_t records = 0;
  };

  std::optional<float> known(EventPair pair) const;
  // Requests the time between these events with every synchronization from now on.
  Wanted want(EventPair pair);
  // What is not known. While nothing else can be sent: the server answers for the records that went
  // out before.
  std::vector<Wanted> wanted() const;
  // ProtocolError where the answer is to something else.
  void keep(const std::vector<Wanted>& pairs, const Elapsed& elapsed);

  void recorded(Id event);
  void forget(Id event);

 private:
  struct KnownPair {
    Wanted wanted = {};
    std::optional<float> milliseconds = {};
  };
  mutable std::mutex mutex_;
  std::uint64_t last_records_ = 0;
  std::vector<KnownPair> pairs_;
};

}  // namespace gpucast::remote::client

// Data on its way to the program's memory, which copies announced.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

#include "protocol/calls.h"

namespace gpucast::remote {

class Arrivals {
 public:
  // `over_lane`: the lane brings it, for which someone has to read; else a channel's own thread.
  void expect(Id transfer, void* to, std::size_t bytes, bool over_lane);

  // Where to put so many bytes; nullptr for what was not announced so (a breach of the protocol).
  std::byte* place(Id transfer, std::uint64_t offset, std::size_t bytes);
  // They are there, or will never be.
  void arrived(Id transfer, std::size_t bytes);
  void failed(Id transfer, Status status);

  // Whether all that was announced with an id below the limit is there.
  bool none_over_lane(Id limit) const;
  bool none(Id limit) const;
  // Until the channels have brought it; false if `lost` became true.
  bool wait_for_channels(Id limit, const std::function<bool()>& lost);
  void wake();
  // Of the first that failed since it was asked.
  Status take_failure();

 private:
  struct Transfer {
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    std::size_t left = 0;
  };
  using Transfers = std::map<Id, Transfer>;  // the oldest first
  Transfer* find(Id transfer);
  void end(Id transfer);
  static bool none(const Transfers& transfers, Id limit) {
    return transfers.empty() || transfers.begin()->first >= limit;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Transfers over_lane_;
  Transfers over_channels_;
  Status failure_ = 0;
};

}  // namespace gpucast::remote

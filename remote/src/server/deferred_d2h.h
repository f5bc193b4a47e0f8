// Large copies to the client that the rings have no room for yet. The session goes on meanwhile
// with what neither waits for them nor overtakes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "protocol/calls.h"
#include "server/bulk.h"
#include "server/streams.h"

namespace gpucast::remote::server {

class DeferredD2h {
 public:
  explicit DeferredD2h(Bulk& bulk) : bulk_(bulk) {}

  bool empty() const { return copies_.empty(); }
  std::size_t size() const { return copies_.size(); }
  // With a status that is not success, the client is only told so. `queued` is told the status in
  // the end.
  void add(const CopyFrom& call, CUstream stream, CUresult status,
           std::function<void(CUresult)> queued) {
    copies_.push_back(
        {.copy = {.call = call, .stream = stream, .status = status}, .queued = std::move(queued)});
  }
  // Queues what there is room for, in order; whether there was any.
  bool advance() {
    bool any = false;
    while (!copies_.empty()) {
      Copy& first = copies_.front();
      const std::uint64_t before = first.copy.queued;
      const bool all = bulk_.from_device(first.copy);
      any = any || all || first.copy.queued != before;
      if (!all) break;
      const Copy done = std::move(first);
      copies_.pop_front();
      ++queued_;
      done.queued(done.copy.status);
    }
    return any;
  }

  // Numbers of the last that was added and of the last that is queued on its stream, from 1.
  std::uint64_t added() const { return queued_ + copies_.size(); }
  std::uint64_t queued() const { return queued_; }

  // Whether one of them is of the stream, or of one that it waits for.
  bool concerns(const Streams& streams, Id stream) const {
    return std::ranges::any_of(copies_, [&](const Copy& each) {
      return streams.wait_for_one_another(each.copy.call.stream, stream);
    });
  }
  bool is_of(Id stream) const {
    return std::ranges::any_of(copies_,
                               [&](const Copy& each) { return each.copy.call.stream == stream; });
  }

 private:
  struct Copy {
    BulkCopy copy;
    std::function<void(CUresult)> queued;
  };

  Bulk& bulk_;
  std::deque<Copy> copies_;
  std::uint64_t queued_ = 0;
};

}  // namespace gpucast::remote::server

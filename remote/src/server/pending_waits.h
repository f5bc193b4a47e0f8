// Work of the session that has to wait, for events on the GPU or for room in the rings of large
// copies, and is checked between messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <utility>

#include "protocol/calls.h"
#include "server/bulk.h"
#include "server/gpu.h"

namespace gpucast::remote::server {

// Large copies to the client that the rings have no room for yet. Meanwhile the session continues
// with work that neither waits for them nor has to stay behind them.
class DeferredD2h {
 public:
  explicit DeferredD2h(Bulk& bulk) : bulk_(bulk) {}

  bool empty() const { return copies_.empty(); }
  std::size_t size() const { return copies_.size(); }
  // If the status is not success, only the client is informed. `queued` receives the status at the
  // end.
  void add(const CopyFrom& call, CUstream stream, CUresult status,
           std::function<void(CUresult)> queued) {
    copies_.push_back(
        {.copy = {.call = call, .stream = stream, .status = status}, .queued = std::move(queued)});
  }
  // Queues copies in order as far as there is room; returns whether there was any.
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

  // The numbers, from 1, of the copy that was added last and of the copy that was queued last.
  std::uint64_t added() const { return queued_ + copies_.size(); }
  std::uint64_t queued() const { return queued_; }

  // Whether one of them is on the stream, or on one that it waits for.
  bool concerns(const Streams& streams, Id stream) const {
    return std::ranges::any_of(copies_, [&](const Copy& waiting) {
      return streams.wait_for_one_another(waiting.copy.call.stream, stream);
    });
  }
  bool is_of(Id stream) const {
    return std::ranges::any_of(
        copies_, [&](const Copy& waiting) { return waiting.copy.call.stream == stream; });
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

// Work that waits for events.
class PendingWaits {
 public:
  struct Entry {
    std::shared_ptr<Events> events = {};  // nothing: no events; the list may be shared
    std::function<void(CUresult)> then = {};
    // Events that are known only once this number of large copies to the client are queued.
    std::uint64_t copies = 0;
    std::function<std::shared_ptr<Events>()> late = {};
    CUresult status = CUDA_ERROR_NOT_READY;  // of its events, once they have completed
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  // Does the work whose events have completed while there is room for its output; returns whether
  // there was any. Work whose events must complete before those of other work is done before it:
  // the client's memory receives the data of ordered copies in their order.
  bool finish(Gpu& gpu, const DeferredD2h& deferred, const std::function<bool()>& room) {
    if (!room()) return false;
    // Events may complete between two queries. From the last to the first, none is found complete
    // without those that completed before it.
    for (Entry& entry : std::views::reverse(entries_))
      if (entry.status == CUDA_ERROR_NOT_READY) entry.status = state_of(entry, gpu, deferred);
    bool any = false;
    std::size_t k = 0;
    for (std::size_t left = entries_.size(); left > 0 && room(); --left) {
      const CUresult status = entries_[k].status;
      if (status == CUDA_ERROR_NOT_READY) {
        ++k;
        continue;
      }
      const auto then = std::move(entries_[k].then);
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(k));
      then(status);
      any = true;
    }
    return any;
  }

 private:
  // Returns CUDA_ERROR_NOT_READY while the events have not completed.
  static CUresult state_of(Entry& entry, Gpu& gpu, const DeferredD2h& deferred) {
    if (entry.copies > deferred.queued()) return CUDA_ERROR_NOT_READY;
    if (entry.late) {
      const CUresult status =
          status_of([&] { entry.events = std::exchange(entry.late, nullptr)(); });
      if (status != CUDA_SUCCESS) return status;
    }
    while (entry.events && !entry.events->empty()) {
      const CUresult status = gpu.driver().cuEventQuery(entry.events->back()->get());
      if (status != CUDA_SUCCESS) return status;
      gpu.streams().give_back(std::move(entry.events->back()));
      entry.events->pop_back();
    }
    return CUDA_SUCCESS;
  }

  std::deque<Entry> entries_;
};

// Notices to a client about copies that it does not wait for, once their streams have reached them.
// Only the first one of each stream is queried: later ones cannot have completed before.
class Notices {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  void add(CUstream stream, Id transfer, std::shared_ptr<Event> event) {
    streams_[stream].push_back({.transfer = transfer, .event = std::move(event)});
    ++size_;
  }
  // Sends the notices whose events have completed while there is room; returns whether there were
  // any.
  bool finish(Gpu& gpu, const std::function<bool()>& room,
              const std::function<void(Id, CUresult)>& tell) {
    bool any = false;
    for (auto stream = streams_.begin(); stream != streams_.end();) {
      std::deque<Notice>& waiting = stream->second;
      while (!waiting.empty() && room()) {
        Notice& first = waiting.front();
        const CUresult status = gpu.driver().cuEventQuery(first.event->get());
        if (status == CUDA_ERROR_NOT_READY) break;
        tell(first.transfer, status);
        gpu.streams().give_back(std::move(first.event));
        waiting.pop_front();
        --size_;
        any = true;
      }
      stream = waiting.empty() ? streams_.erase(stream) : std::next(stream);
    }
    return any;
  }

 private:
  struct Notice {
    Id transfer = 0;
    std::shared_ptr<Event> event;
  };
  std::map<CUstream, std::deque<Notice>> streams_;
  std::size_t size_ = 0;
};

}  // namespace gpucast::remote::server

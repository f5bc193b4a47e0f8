// Work of the session that waits for events on the GPU: a list that is polled between messages.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "server/deferred_d2h.h"
#include "server/gpu.h"

namespace gpucast::remote::server {

class PendingWaits {
 public:
  using Events = std::vector<std::shared_ptr<Event>>;
  struct Entry {
    Events events = {};
    std::function<void(CUresult)> then = {};
    // Those that are only known once so many large copies to the client are queued.
    std::uint64_t copies = 0;
    std::function<Events()> late = {};
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  // Does what the GPU has come to while there is room for what it brings; whether that was
  // anything.
  bool finish(Gpu& gpu, const DeferredD2h& outgoing, const std::function<bool()>& room);

 private:
  std::deque<Entry> entries_;
};

}  // namespace gpucast::remote::server

#include "server/deferred_d2h.h"

#include <algorithm>
#include <utility>

namespace gpucast::remote::server {

void DeferredD2h::add(const CopyFrom& call, CUstream stream, CUresult status,
                      std::function<void(CUresult)> queued) {
  copies_.push_back({.copy = {.call = call, .stream = stream, .status = status},
                     .stream = call.stream,
                     .queued = std::move(queued)});
}

bool DeferredD2h::advance() {
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

bool DeferredD2h::concerns(const Streams& streams, Id stream) const {
  return std::ranges::any_of(
      copies_, [&](const Copy& each) { return streams.wait_for_one_another(each.stream, stream); });
}

bool DeferredD2h::is_of(Id stream) const {
  return std::ranges::any_of(copies_, [&](const Copy& each) { return each.stream == stream; });
}

}  // namespace gpucast::remote::server

#include "server/outgoing.h"

#include <algorithm>
#include <utility>

namespace gpucast::remote::server {

void Outgoing::add(const CopyFrom& call, CUstream stream, CUresult status,
                   std::function<void(CUresult)> queued) {
  copies_.push_back({.copy = {.call = call, .stream = stream, .status = status},
                     .stream = call.stream,
                     .queued = std::move(queued)});
}

bool Outgoing::advance() {
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

bool Outgoing::concerns(const Streams& streams, Id stream) const {
  return std::ranges::any_of(
      copies_, [&](const Copy& each) { return streams.wait_for_one_another(each.stream, stream); });
}

bool Outgoing::is_of(Id stream) const {
  return std::ranges::any_of(copies_, [&](const Copy& each) { return each.stream == stream; });
}

bool Outgoing::stops(const Streams& streams, Call call, Bytes payload) const {
  Bytes tail;
  switch (call) {
    // Theirs is another stream, and what they need has been done before.
    case Call::memset:
      return concerns(streams, decode<Memset>(payload).stream);
    case Call::copy_to:
      return concerns(streams, decode<CopyTo>(payload, &tail).stream);
    case Call::copy_to_bulk:
      return concerns(streams, decode<CopyToBulk>(payload).stream);
    case Call::copy_within:
      return concerns(streams, decode<CopyWithin>(payload).stream);
    case Call::stream_wait_event:
      return concerns(streams, decode<StreamWaitEvent>(payload).stream);
    case Call::event_record:
      return concerns(streams, decode<EventRecord>(payload).stream);
    case Call::launch:
      return concerns(streams, decode<Launch>(payload).stream);
    case Call::copy_from: {
      const auto copy = decode<CopyFrom>(payload);  // a large one is the next of these
      return copy.bytes <= most_inline && concerns(streams, copy.stream);
    }
    // Those that wait begin to do so once they can.
    case Call::stream_sync:
    case Call::device_sync:
    // Nothing of any stream.
    case Call::ping:
    case Call::mem_alloc:
    case Call::mem_info:
    case Call::stream_create:
    case Call::stream_query:
    case Call::event_create:
    case Call::event_destroy:
    case Call::event_query:
    case Call::event_sync:
    case Call::event_elapsed:
    case Call::module_piece:
    case Call::module_load:
    case Call::module_kernels:
    case Call::module_global:
    case Call::function_attributes:
    case Call::function_set_attribute:
    case Call::occupancy:
    case Call::fence_sync:
    case Call::share:
    case Call::attach:
      return false;
    default:
      return true;
  }
}

}  // namespace gpucast::remote::server

#include "server/outgoing.h"

#include <algorithm>
#include <type_traits>
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

template <class Message>
bool Outgoing::behind_none(const Streams& /*streams*/, Bytes /*payload*/) const {
  return false;
}

template <class Message>
bool Outgoing::behind_all(const Streams& /*streams*/, Bytes /*payload*/) const {
  return true;
}

template <class Message>
bool Outgoing::behind_stream(const Streams& streams, Bytes payload) const {
  Bytes tail;
  const auto message = decode<Message>(payload, &tail);
  if constexpr (std::is_same_v<Message, CopyFrom>) {
    if (message.bytes > most_inline) return false;  // it is the next of these copies
  }
  return concerns(streams, message.stream);
}

bool Outgoing::stops(const Streams& streams, Call call, Bytes payload) const {
  switch (call) {
// NOLINTBEGIN(bugprone-macro-parentheses): of a template's name and its argument
#define GPUCAST_ORDER(name, Message, handling, order) \
  case Call::name:                                    \
    return order<Message>(streams, payload);
    // NOLINTEND(bugprone-macro-parentheses)
    GPUCAST_CALLS(GPUCAST_ORDER)
#undef GPUCAST_ORDER
    case Call::none:
    case Call::reply:
    case Call::data:
      break;
  }
  return false;  // no call: the session says so
}

}  // namespace gpucast::remote::server

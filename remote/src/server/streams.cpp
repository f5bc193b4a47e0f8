#include "server/streams.h"

#include <limits>

namespace gpucast::remote::server {
namespace {

// More than programs use, and few enough for this process.
constexpr std::size_t most_streams = std::size_t{1} << 14;
constexpr std::size_t most_events = std::size_t{1} << 18;
constexpr std::size_t first_prune = 64;
// Events that this process makes itself: for lists of all streams, and for copies that wait. Used
// ones are kept up to a number that programs need all the time.
constexpr std::size_t most_own_events = std::size_t{1} << 16;
constexpr std::size_t most_idle_events = 1024;

}  // namespace

Streams::Streams(const Driver& driver) : driver_(driver), prune_at_(first_prune) {
  streams_[legacy_stream] = {.handle = CU_STREAM_LEGACY};
}

CUstream Streams::stream(Id id) {
  Stream& stream = named(streams_, id);
  if (stream.fences_seen != fences_) {
    if (id != fenced_stream_) driver_.cuStreamWaitEvent(stream.handle, fence_->get(), 0);
    stream.fences_seen = fences_;
  }
  return stream.handle;
}

void Streams::fence(Id id) {
  auto* const handle = stream(id);
  // Streams that wait for the last fence continue to do so when its event is recorded again.
  if (fence_) give_back(std::move(fence_));
  fence_ = record(handle);
  fenced_stream_ = id;
  ++fences_;
  streams_[id].fences_seen = fences_;
}

std::shared_ptr<Event> Streams::record(CUstream stream) {
  std::shared_ptr<Event> event;
  if (idle_events_.empty()) {
    event = std::make_shared<Event>(driver_, CU_EVENT_DISABLE_TIMING, &own_events_);
  } else {
    event = std::move(idle_events_.back());
    idle_events_.pop_back();
  }
  check(driver_.cuEventRecord(event->get(), stream));
  return event;
}

void Streams::give_back(std::shared_ptr<Event> event) {
  // Events of the program, and a fence, have another owner.
  if (event.use_count() == 1 && idle_events_.size() < most_idle_events)
    idle_events_.push_back(std::move(event));
}

std::shared_ptr<Events> Streams::record_all() {
  if (auto known = all_.lock()) return known;
  forget_what_is_done();
  auto result = std::make_shared<Events>(left_);
  result->reserve(result->size() + streams_.size());
  for (const auto& [id, stream] : streams_)
    result->push_back(record(stream.handle));
  all_ = result;
  return result;
}

bool Streams::has_room_for_waits() const {
  return own_events_ - idle_events_.size() + streams_.size() <= most_own_events;
}

// A stream's work completes even if the stream is destroyed; this records when.
void Streams::leave(CUstream stream) {
  if (left_.size() >= prune_at_) {
    forget_what_is_done();
    prune_at_ = std::max(first_prune, 2 * left_.size());
  }
  // If the GPU has failed, no work completes any more.
  status_of([&] { left_.push_back(record(stream)); });
}

void Streams::forget_what_is_done() {
  std::erase_if(left_, [this](std::shared_ptr<Event>& event) {
    if (driver_.cuEventQuery(event->get()) == CUDA_ERROR_NOT_READY) return false;
    give_back(std::move(event));
    return true;
  });
}

void Streams::reset() {
  fence_.reset();
  // Streams that are created later have nothing to wait for either.
  fences_ = 0;
  left_.clear();
  events_.clear();
  for (const auto& [id, stream] : streams_)
    if (id >= first_id) driver_.cuStreamDestroy(stream.handle);
  streams_ = {{legacy_stream, {.handle = CU_STREAM_LEGACY}}};
}

bool Streams::wait_for_one_another(Id first, Id second) const {
  if (first == second) return true;
  if (first != legacy_stream && second != legacy_stream) return false;
  const auto other = streams_.find(first == legacy_stream ? second : first);
  return other != streams_.end() && other->second.blocking;
}

void Streams::run(const StreamCreate& call) {
  if (call.stream < first_id || streams_.contains(call.stream))
    throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  if (streams_.size() + left_.size() >= most_streams) forget_what_is_done();
  if (streams_.size() + left_.size() >= most_streams) throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  CUstream handle = nullptr;
  check(driver_.cuStreamCreateWithPriority(&handle, call.flags, call.priority));
  streams_[call.stream] = {.handle = handle,
                           .blocking = (call.flags & CU_STREAM_NON_BLOCKING) == 0};
}

void Streams::run(const StreamDestroy& call) {
  if (call.stream < first_id) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  auto* const handle = stream(call.stream);
  streams_.erase(call.stream);
  leave(handle);
  check(driver_.cuStreamDestroy(handle));
}

void Streams::run(const StreamWaitEvent& call) {
  check(driver_.cuStreamWaitEvent(stream(call.stream), event(call.event)->get(), call.flags));
}

void Streams::run(const EventCreate& call) {
  if (events_.contains(call.event)) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  if (events_.size() >= most_events) throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  events_[call.event] = std::make_shared<Event>(driver_, call.flags);
}

void Streams::run(const EventDestroy& call) {
  if (events_.erase(call.event) == 0) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
}

void Streams::run(const EventRecord& call) {
  check(driver_.cuEventRecord(event(call.event)->get(), stream(call.stream)));
}

Elapsed Streams::run(const EventElapsed& call) const {
  float milliseconds = 0;
  check(driver_.elapsed(&milliseconds, event(call.pair.begin)->get(), event(call.pair.end)->get()));
  return {.milliseconds = {milliseconds}};
}

Elapsed Streams::elapsed(const std::vector<EventPair>& pairs) const {
  Elapsed result;
  for (const EventPair& pair : pairs) {
    float milliseconds = 0;
    const auto begin = events_.find(pair.begin);
    const auto end = events_.find(pair.end);
    const bool known =
        begin != events_.end() && end != events_.end() &&
        driver_.elapsed(&milliseconds, begin->second->get(), end->second->get()) == CUDA_SUCCESS;
    result.milliseconds.push_back(known ? milliseconds : std::numeric_limits<float>::quiet_NaN());
  }
  return result;
}

}  // namespace gpucast::remote::server

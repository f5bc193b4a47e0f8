#include "server/session.h"

#include <algorithm>
#include <ostream>
#include <thread>
#include <type_traits>
#include <utility>

namespace gpucast::remote::server {
namespace {

// Answers that the client does not read: it is given nothing more to do until it does.
constexpr std::size_t most_unsent = std::size_t{8} << 20;
constexpr std::size_t most_pending = 1024;
// So long the GPU is asked without pause for what is pending.
constexpr std::chrono::milliseconds busy(10);
constexpr std::chrono::microseconds nap(20);

// Nothing where it cannot be had: then memory is not shared.
std::optional<HostKey> host_key(std::ostream& log) {
  try {
    return HostKey();
  } catch (const std::runtime_error& error) {
    log << "gpucast-gpu-server: copies between GPUs go through the client: " << error.what() << '\n'
        << std::flush;
    return std::nullopt;
  }
}

}  // namespace

Session::Session(std::unique_ptr<Connection> control, Bulk& bulk, SessionOptions options,
                 std::ostream& log)
    : control_(std::move(control)),
      bulk_(bulk),
      options_(std::move(options)),
      log_(log),
      replies_(*control_),
      deferred_(bulk) {}

void Session::run() {
  auto idle_since = Clock::now();
  for (;;) {
    bool progress = replies_.send();
    if (take_messages()) progress = true;
    if (deferred_.advance()) progress = true;
    if (finish_waits()) progress = true;
    if (take_back_staging(false)) progress = true;
    if (progress) {
      idle_since = Clock::now();
    } else {
      rest(idle_since);
    }
  }
}

void Session::rest(Clock::time_point idle_since) {
  const auto now = Clock::now();
  const bool unsent = replies_.unsent() != 0;
  if (!deferred_.empty()) {
    bulk_.wait_for_room();
  } else if (waits_.empty() ? now - idle_since < options_.spin : now - idle_since < busy) {
    std::this_thread::yield();
  } else if (waits_.empty()) {
    // Memory that is read no more can be taken back when there is something to do again.
    control_->wait({.read = replies_.unsent() < most_unsent, .write = unsent}, std::nullopt);
  } else {
    std::this_thread::sleep_for(nap);
  }
}

void Session::tend() {
  replies_.send();
  deferred_.advance();
  finish_waits();
}

// What they bring stays in pinned memory until there is room for it.
bool Session::finish_waits() {
  const auto room = [this] { return replies_.unsent() < most_unsent; };
  return gpu_ && waits_.finish(*gpu_, deferred_, room);
}

bool Session::has_room() const {
  return replies_.unsent() < most_unsent && waits_.size() < most_pending;
}

bool Session::take_messages() {
  if (!has_room()) return false;
  bool any = inbox_.read(*control_);
  while (has_room()) {
    const auto received = inbox_.front();
    if (!received || !take(received->header, received->payload)) break;
    inbox_.pop(*received);
    any = true;
    replies_.send();
  }
  return any;
}

bool Session::take(const Header& header, Bytes payload) {
  switch (header.call) {
#define GPUCAST_TAKE(Message, ...) \
  case Call::Message:              \
    return take(header, decode<Message>(payload));
    GPUCAST_CALLS(GPUCAST_TAKE)
#undef GPUCAST_TAKE
    case Call::none:
    case Call::reply:
    case Call::data:
      break;
  }
  throw ProtocolError("a call that does not exist");
}

template <class Message>
bool Session::take(const Header& header, const Message& call) {
  if (!deferred_.empty() && stays_behind(call)) return false;
  const CUresult status = status_of([&] { handle(header, call); });
  if (status != CUDA_SUCCESS) replies_.report(header, status);
  return true;
}

template <class Message>
bool Session::stays_behind(const Message& call) {
  constexpr Order order = CallOf<Message>::order;
  if constexpr (std::is_same_v<Message, CopyFrom>) {
    if (call.bytes > most_inline) return false;  // it is the next of these copies
  }
  if constexpr (order == Order::behind_stream) {
    return deferred_.concerns(gpu().streams(), call.stream);
  } else {
    return order == Order::behind_all;
  }
}

bool Session::take_back_staging(bool all) {
  bool any = false;
  for (std::size_t k = 0; k < readings_.size();) {
    Reading& reading = readings_[k];
    if (gpu_->driver().cuEventQuery(reading.event->get()) == CUDA_ERROR_NOT_READY) {
      if (!all) break;
      ++k;
      continue;
    }
    Staging::give_back(reading.slot);
    gpu_->streams().give_back(std::move(reading.event));
    readings_.erase(readings_.begin() + static_cast<std::ptrdiff_t>(k));
    any = true;
  }
  return any;
}

Gpu& Session::gpu() {
  if (!gpu_) throw ProtocolError("a call before the GPU is open");
  return *gpu_;
}

template <class Message>
void Session::handle(const Header& header, const Message& call) {
  if constexpr (requires { call.pairs; }) {
    synchronize(header, call);
  } else if constexpr (std::is_same_v<ResultOf<Message>, Nothing>) {
    gpu().run(call);
    replies_.report(header, CUDA_SUCCESS);
  } else {
    replies_.reply(header, gpu().run(call));
  }
}

template <class Message>
PendingWaits::Events Session::events_of(const Message& call) {
  Streams& streams = gpu().streams();
  if constexpr (std::is_same_v<Message, StreamSync>) {
    return {streams.record(streams.stream(call.stream))};
  } else if constexpr (std::is_same_v<Message, EventSync>) {
    return {streams.event(call.event)};
  } else {
    return streams.record_all();
  }
}

template <class Message>
void Session::synchronize(const Header& header, const Message& call) {
  if (header.request == 0) return;
  bool late = !deferred_.empty();
  if constexpr (std::is_same_v<Message, StreamSync>) {
    late = late && deferred_.concerns(gpu().streams(), call.stream);
  } else if constexpr (std::is_same_v<Message, EventSync>) {
    late = false;
  }
  PendingWaits::Entry entry;
  if (late) {
    entry.copies = deferred_.added();
    entry.late = [this, call] { return events_of(call); };
  } else {
    entry.events = events_of(call);
  }
  entry.then = [this, header, pairs = call.pairs](CUresult status) {
    if (status != CUDA_SUCCESS) return replies_.report(header, status);
    replies_.reply(header, gpu_->streams().elapsed(pairs));
  };
  waits_.add(std::move(entry));
}

void Session::handle(const Header& header, const StreamQuery& call) {
  replies_.report(header, deferred_.is_of(call.stream) ? CUDA_ERROR_NOT_READY
                                                       : gpu().streams().query_stream(call.stream));
}

void Session::handle(const Header& header, const EventQuery& call) {
  replies_.report(header, gpu().streams().query_event(call.event));
}

void Session::handle(const Header& header, const FenceSync& /*call*/) {
  PendingWaits::Entry entry;
  if (auto last = gpu().streams().last_fence()) entry.events = {std::move(last)};
  entry.then = [this, header](CUresult status) { replies_.report(header, status); };
  waits_.add(std::move(entry));
}

// Who asks frees the memory next, whatever a failed GPU says.
void Session::handle(const Header& header, const Detach& call) {
  PendingWaits::Entry entry;
  status_of([&] { entry.events = gpu().streams().record_all(); });
  entry.then = [this, header, call](CUresult /*status*/) {
    replies_.report(header, status_of([&] { gpu_->run(call); }));
  };
  waits_.add(std::move(entry));
}

void Session::handle(const Header& header, const Ping& /*call*/) {
  replies_.report(header, CUDA_SUCCESS);
}

void Session::handle(const Header& header, const Open& /*call*/) {
  Opened result;
  if (gpu_) throw ProtocolError("the GPU is open already");
  try {
    gpu_ =
        std::make_unique<Gpu>(options_.libcuda, options_.gpu, options_.most_memory, host_key(log_));
    staging_ = std::make_unique<Staging>(gpu_->driver());
    result.device = gpu_->describe();
    bulk_.serve(*gpu_);
  } catch (const std::runtime_error& error) {
    gpu_.reset();
    result.problem = error.what();
    result.problem.resize(std::min(result.problem.size(), most_text_bytes));
  }
  replies_.reply(header, std::move(result));
}

Staging::Slot Session::staging_slot(std::size_t bytes) {
  const auto begin = Clock::now();
  for (;;) {
    if (const Staging::Slot slot = staging_->take(bytes); slot.data != nullptr) return slot;
    // All of them wait for the GPU, or for the client to read.
    tend();
    take_back_staging(true);
    if (Clock::now() - begin < busy) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(nap);
    }
  }
}

CUstream Session::stream_for_copy(Id stream, Address memory, std::uint64_t bytes) {
  auto* const result = gpu().streams().stream(stream);
  gpu().require_held(memory, bytes);
  return result;
}

void Session::handle(const Header& header, const CopyTo& call) {
  const Bytes data = call.tail.data;
  if (data.size() > most_inline) throw ProtocolError("a copy is too long for its message");
  auto* const stream = stream_for_copy(call.stream, call.to, data.size());
  const Staging::Slot slot = staging_slot(data.size());
  std::ranges::copy(data, slot.data);
  const CUresult status = gpu().driver().cuMemcpyHtoDAsync(call.to, slot.data, data.size(), stream);
  if (status != CUDA_SUCCESS) Staging::give_back(slot);
  check(status);
  readings_.push_back({.event = gpu().streams().record(stream), .slot = slot});
  if (call.fence != 0) gpu().streams().fence(call.stream);
  replies_.report(header, CUDA_SUCCESS);
}

void Session::handle(const Header& header, const CopyToBulk& call) {
  CUstream stream = nullptr;
  const CUresult status =
      status_of([&] { stream = stream_for_copy(call.stream, call.to, call.bytes); });
  check(bulk_.to_device(call, stream, status, [this] { tend(); }));
  if (call.fence != 0) gpu().streams().fence(call.stream);
  replies_.report(header, CUDA_SUCCESS);
}

void Session::handle(const Header& header, const CopyFrom& call) {
  CUstream stream = nullptr;
  CUresult status =
      status_of([&] { stream = stream_for_copy(call.stream, call.from, call.bytes); });
  if (call.bytes > most_inline) {
    deferred_.add(call, stream, status, [this, header](CUresult queued) {
      // What failed is told in place of the data.
      if (header.request != 0) replies_.report(header, queued);
    });
    deferred_.advance();
    return;
  }
  Staging::Slot slot;
  PendingWaits::Entry entry;
  if (status == CUDA_SUCCESS) {
    status = status_of([&] {
      slot = staging_slot(call.bytes);
      check(gpu().driver().cuMemcpyDtoHAsync(slot.data, call.from, call.bytes, stream));
      entry.events = {gpu().streams().record(stream)};
    });
  }
  if (status != CUDA_SUCCESS) return copied_from(header, call, slot, status);
  entry.then = [this, header, call, slot](CUresult then) { copied_from(header, call, slot, then); };
  waits_.add(std::move(entry));
}

void Session::copied_from(const Header& header, const CopyFrom& call, const Staging::Slot& slot,
                          CUresult status) {
  const Bytes data(slot.data, status == CUDA_SUCCESS ? call.bytes : 0);
  if (header.request == 0) {
    replies_.data({.transfer = call.transfer, .status = status, .tail = {data}});
  } else if (status == CUDA_SUCCESS) {
    replies_.reply(header, Nothing{}, data);
  } else {
    replies_.report(header, status);
  }
  Staging::give_back(slot);
}

}  // namespace gpucast::remote::server

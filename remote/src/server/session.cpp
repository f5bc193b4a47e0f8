#include "server/session.h"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <thread>
#include <type_traits>
#include <utility>

namespace gpucast::remote::server {
namespace {

constexpr std::size_t read_at_once = std::size_t{256} << 10;
// Answers that the client does not read: it is given nothing more to do until it does.
constexpr std::size_t most_unsent = std::size_t{8} << 20;
constexpr std::size_t most_pending = 1024;
// So long the GPU is asked without pause for what is pending.
constexpr std::chrono::milliseconds busy(10);
constexpr std::chrono::microseconds nap(20);

Bytes bytes_of(const std::byte* data, std::uint64_t size) {
  return {data, static_cast<std::size_t>(size)};
}

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

Session::Session(std::unique_ptr<Connection> lane, Bulk& bulk, SessionOptions options,
                 std::ostream& log)
    : lane_(std::move(lane)),
      bulk_(bulk),
      options_(std::move(options)),
      log_(log),
      answers_(*lane_),
      outgoing_(bulk) {
  in_.resize(Header::size + most_frame + read_at_once);
}

void Session::run() {
  auto idle_since = Clock::now();
  for (;;) {
    bool progress = answers_.send();
    if (take_messages()) progress = true;
    if (outgoing_.advance()) progress = true;
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
  const bool unsent = answers_.unsent() != 0;
  if (!outgoing_.empty()) {
    bulk_.wait_for_room();
  } else if (waits_.empty() ? now - idle_since < options_.spin : now - idle_since < busy) {
    std::this_thread::yield();
  } else if (waits_.empty()) {
    // Memory that is read no more can be taken back when there is something to do again.
    wait(*lane_, {.read = answers_.unsent() < most_unsent, .write = unsent}, std::nullopt);
  } else {
    std::this_thread::sleep_for(nap);
  }
}

void Session::tend() {
  answers_.send();
  outgoing_.advance();
  finish_waits();
}

// What they bring stays in pinned memory until there is room for it.
bool Session::finish_waits() {
  const auto room = [this] { return answers_.unsent() < most_unsent; };
  return gpu_ && waits_.finish(*gpu_, outgoing_, room);
}

bool Session::has_room() const {
  return answers_.unsent() < most_unsent && waits_.size() < most_pending;
}

bool Session::take_messages() {
  if (!has_room()) return false;
  if (in_begin_ == in_end_) in_begin_ = in_end_ = 0;
  if (in_.size() - in_end_ < read_at_once && in_begin_ != 0) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  const std::size_t got = lane_->try_read({in_.data() + in_end_, in_.size() - in_end_});
  in_end_ += got;
  bool any = got > 0;
  while (in_end_ - in_begin_ >= Header::size && has_room()) {
    const Header header = decode_header(bytes_of(in_.data() + in_begin_, Header::size));
    const std::size_t whole = Header::size + header.bytes;
    if (in_end_ - in_begin_ < whole) break;
    const Bytes payload = bytes_of(in_.data() + in_begin_ + Header::size, header.bytes);
    if (!outgoing_.empty() && outgoing_.stops(gpu().streams(), header.call, payload)) break;
    handle(header, payload);
    in_begin_ += whole;
    any = true;
    answers_.send();
  }
  return any;
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
void Session::at_once(const Header& header, Bytes payload) {
  const auto call = decode<Message>(payload);
  typename Message::Result result{};
  CUresult status = CUDA_SUCCESS;
  try {
    status = gpu().run(call, result);
  } catch (const DriverError& error) {
    status = error.status();
  }
  if (header.request != 0) {
    answers_.reply(header.request, status, result);
  } else {
    answers_.report(header, status);
  }
}

template <class Message>
Waits::Events Session::events_of(const Message& call) {
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
void Session::synchronize(const Header& header, Bytes payload) {
  const auto call = decode<Message>(payload);
  if (header.request == 0) return;
  bool late = !outgoing_.empty();
  if constexpr (std::is_same_v<Message, StreamSync>) {
    late = late && outgoing_.concerns(gpu().streams(), call.stream);
  } else if constexpr (std::is_same_v<Message, EventSync>) {
    late = false;
  }
  Waits::Entry entry;
  try {
    if (late) {
      entry.copies = outgoing_.added();
      entry.late = [this, call] { return events_of(call); };
    } else {
      entry.events = events_of(call);
    }
  } catch (const DriverError& error) {
    return answers_.reply(header.request, error.status(), Elapsed{});
  }
  entry.then = [this, request = header.request, pairs = call.pairs](CUresult status) {
    answers_.reply(request, status, gpu_->streams().elapsed(pairs));
  };
  waits_.add(std::move(entry));
}

template <>
void Session::own<StreamQuery>(const Header& header, Bytes payload) {
  if (!outgoing_.empty() && outgoing_.is_of(decode<StreamQuery>(payload).stream))
    return answers_.report(header, CUDA_ERROR_NOT_READY);
  at_once<StreamQuery>(header, payload);
}

template <>
void Session::own<FenceSync>(const Header& header, Bytes /*payload*/) {
  Waits::Entry entry;
  if (auto last = gpu().streams().last_fence()) entry.events = {std::move(last)};
  entry.then = [this, header](CUresult status) { answers_.report(header, status); };
  waits_.add(std::move(entry));
}

// Who asks frees the memory next, whatever a failed GPU says.
template <>
void Session::own<Detach>(const Header& header, Bytes payload) {
  const auto call = decode<Detach>(payload);
  Waits::Entry entry;
  try {
    entry.events = gpu().streams().record_all();
  } catch (const DriverError&) {
    entry.events.clear();
  }
  entry.then = [this, header, call](CUresult /*status*/) {
    Nothing nothing;
    answers_.report(header, gpu_->run(call, nothing));
  };
  waits_.add(std::move(entry));
}

template <>
void Session::own<Ping>(const Header& header, Bytes /*payload*/) {
  answers_.report(header, CUDA_SUCCESS);
}

template <>
void Session::own<Open>(const Header& header, Bytes /*payload*/) {
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
  answers_.reply(header.request, CUDA_SUCCESS, result);
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

template <>
void Session::own<CopyTo>(const Header& header, Bytes payload) {
  Bytes data;
  const auto call = decode<CopyTo>(payload, &data);
  if (data.size() > most_inline) throw ProtocolError("a copy is too long for its message");
  CUresult status = CUDA_SUCCESS;
  try {
    auto* const stream = gpu().streams().stream(call.stream);
    if (!gpu().holds(call.to, data.size()))
      return answers_.report(header, CUDA_ERROR_INVALID_VALUE);
    const Staging::Slot slot = staging_slot(data.size());
    std::ranges::copy(data, slot.data);
    status = gpu().driver().cuMemcpyHtoDAsync(call.to, slot.data, data.size(), stream);
    if (status == CUDA_SUCCESS) {
      readings_.push_back({.event = gpu().streams().record(stream), .slot = slot});
      if (call.fence != 0) gpu().streams().fence(call.stream);
    } else {
      Staging::give_back(slot);
    }
  } catch (const DriverError& error) {
    status = error.status();
  }
  answers_.report(header, status);
}

template <>
void Session::own<CopyToBulk>(const Header& header, Bytes payload) {
  const auto call = decode<CopyToBulk>(payload);
  CUstream stream = nullptr;
  CUresult status = CUDA_SUCCESS;
  try {
    stream = gpu().streams().stream(call.stream);
    if (!gpu().holds(call.to, call.bytes)) throw DriverError(CUDA_ERROR_INVALID_VALUE, "copy");
  } catch (const DriverError& error) {
    stream = nullptr;
    status = error.status();
  }
  const CUresult copied = bulk_.to_device(call, stream, [this] { tend(); });
  if (status == CUDA_SUCCESS) status = copied;
  try {
    if (status == CUDA_SUCCESS && call.fence != 0) gpu().streams().fence(call.stream);
  } catch (const DriverError& error) {
    status = error.status();
  }
  answers_.report(header, status);
}

template <>
void Session::own<CopyFrom>(const Header& header, Bytes payload) {
  const auto call = decode<CopyFrom>(payload);
  if (call.bytes > most_inline) return copy_from_bulk(header, call);
  CUresult status = CUDA_SUCCESS;
  Staging::Slot slot;
  try {
    auto* const stream = gpu().streams().stream(call.stream);
    if (!gpu().holds(call.from, call.bytes)) throw DriverError(CUDA_ERROR_INVALID_VALUE, "copy");
    slot = staging_slot(call.bytes);
    status = gpu().driver().cuMemcpyDtoHAsync(slot.data, call.from, call.bytes, stream);
    if (status == CUDA_SUCCESS) {
      waits_.add({.events = {gpu().streams().record(stream)},
                  .then = [this, header, call, slot](CUresult then) {
                    copied_from(header, call, slot, then);
                  }});
      return;
    }
  } catch (const DriverError& error) {
    status = error.status();
  }
  copied_from(header, call, slot, status);
}

void Session::copy_from_bulk(const Header& header, const CopyFrom& call) {
  CUstream stream = nullptr;
  CUresult status = CUDA_SUCCESS;
  try {
    stream = gpu().streams().stream(call.stream);
    if (!gpu().holds(call.from, call.bytes)) status = CUDA_ERROR_INVALID_VALUE;
  } catch (const DriverError& error) {
    status = error.status();
  }
  outgoing_.add(call, stream, status, [this, header](CUresult queued) {
    // What failed is told in place of the data.
    if (header.request != 0) answers_.report(header, queued);
  });
  outgoing_.advance();
}

void Session::copied_from(const Header& header, const CopyFrom& call, const Staging::Slot& slot,
                          CUresult status) {
  const Bytes data = status == CUDA_SUCCESS ? bytes_of(slot.data, call.bytes) : Bytes{};
  if (header.request != 0) {
    answers_.reply(header.request, status, Nothing{}, data);
  } else {
    answers_.data({.transfer = call.transfer, .status = status}, data);
  }
  Staging::give_back(slot);
}

template <>
void Session::own<ModulePiece>(const Header& header, Bytes payload) {
  Bytes piece;
  const auto call = decode<ModulePiece>(payload, &piece);
  answers_.report(header, gpu().run(call, piece));
}

void Session::handle(const Header& header, Bytes payload) {
  switch (header.call) {
// NOLINTBEGIN(bugprone-macro-parentheses): of a template's name and its argument
#define GPUCAST_HANDLE(name, Message, handling, order) \
  case Call::name:                                     \
    return handling<Message>(header, payload);
    // NOLINTEND(bugprone-macro-parentheses)
    GPUCAST_CALLS(GPUCAST_HANDLE)
#undef GPUCAST_HANDLE
    case Call::none:
    case Call::reply:
    case Call::data:
      break;
  }
  throw ProtocolError("a call that does not exist");
}

}  // namespace gpucast::remote::server

#include "server/session.h"

#include <fstream>

namespace gpucast::remote::server {
namespace {

// If this many bytes of answers are unread, the client's calls wait until it reads.
constexpr std::size_t most_unsent = std::size_t{8} << 20;
constexpr std::size_t most_pending = 1024;
// For this time the GPU is queried about pending work without pause.
constexpr std::chrono::milliseconds busy(10);
constexpr std::chrono::microseconds nap(20);
constexpr std::chrono::microseconds longest_nap(1000);
constexpr int naps_of_idle_time = 2000;

// The longer nothing has happened, the less a delay matters and the less processor time should be
// used: a client that never reads, or a kernel that never ends, gets hardly any.
std::chrono::microseconds nap_after(Clock::duration idle) {
  return std::clamp(std::chrono::duration_cast<std::chrono::microseconds>(idle / naps_of_idle_time),
                    nap, longest_nap);
}

// Every client is a child process of the server.
std::uint32_t processes_beside() {
  const std::string server = std::to_string(::getppid());
  std::ifstream children("/proc/" + server + "/task/" + server + "/children");
  std::uint32_t count = 0;
  for (std::string child; children >> child;)
    ++count;
  return count;
}

std::shared_ptr<Events> one(std::shared_ptr<Event> event) {
  return std::make_shared<Events>(Events{std::move(event)});
}

// Returns nothing if there is no key: then memory is not shared.
std::optional<HostKey> host_key(Log& log) {
  try {
    return HostKey();
  } catch (const std::runtime_error& error) {
    log.say(std::string("copies between GPUs go through the client: ") + error.what());
    return std::nullopt;
  }
}

}  // namespace

Session::Session(std::unique_ptr<Connection> control, Bulk& bulk, HostFunctions& host_functions,
                 SessionOptions options, Log& log)
    : control_(std::move(control)),
      bulk_(bulk),
      host_functions_(host_functions),
      options_(std::move(options)),
      log_(log),
      replies_(*control_),
      deferred_(bulk) {}

void Session::run() {
  auto idle_since = Clock::now();
  for (;;) {
    bool progress = replies_.send();
    if (take_messages()) progress = true;
    if (advance_deferred()) progress = true;
    if (finish_waits()) progress = true;
    if (take_back_staging(false)) progress = true;
    if (progress)
      idle_since = Clock::now();
    else
      rest(idle_since);
  }
}

void Session::rest(Clock::time_point idle_since) {
  const auto now = Clock::now();
  const bool unsent = replies_.unsent() != 0;
  if (!deferred_.empty()) {
    bulk_.wait_for_room(nap_after(now - idle_since));
    return;
  }
  const bool waits = !waits_.empty() || !notices_.empty();
  if (now - idle_since < (waits ? Clock::duration(busy) : options_.spin)) {
    look_again(now - idle_since);
  } else if (!waits) {
    // Staging memory can be taken back at the next opportunity.
    control_->wait({.read = replies_.unsent() < most_unsent, .write = unsent}, std::nullopt);
  } else {
    std::this_thread::sleep_for(nap_after(now - idle_since));
  }
}

void Session::tend() {
  replies_.send();
  advance_deferred();
  finish_waits();
}

bool Session::advance_deferred() {
  const bool any = deferred_.advance();
  if (any) gpu().streams().new_work();
  return any;
}

// Their results stay in pinned memory until there is room for them.
bool Session::finish_waits() {
  if (!gpu_) return false;
  const auto room = [this] { return replies_.unsent() < most_unsent; };
  const bool any = waits_.finish(*gpu_, deferred_, room);
  return notices_.finish(*gpu_, room, [this](Id transfer, CUresult status) {
    replies_.data({.transfer = transfer, .status = status});
  }) || any;
}

bool Session::has_room() const {
  return replies_.unsent() < most_unsent && waits_.size() < most_pending &&
         deferred_.size() < most_pending && notices_.size() < most_pending &&
         (!gpu_ || waits_.empty() || gpu_->streams().has_room_for_waits());
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
  if (gpu_ && CallOf<Message>::order != Order::only_asks) gpu_->streams().new_work();
  return true;
}

template <class Message>
bool Session::stays_behind(const Message& call) {
  constexpr Order order = CallOf<Message>::order;
  if constexpr (std::is_same_v<Message, CopyFrom>) {
    if (call.piece != 0) return false;  // it is appended to these copies
  }
  if constexpr (order == Order::behind_stream)
    return deferred_.concerns(gpu().streams(), call.stream);
  else
    return order == Order::behind_all;
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
std::shared_ptr<Events> Session::events_of(const Message& call) {
  Streams& streams = gpu().streams();
  if constexpr (std::is_same_v<Message, StreamSync>)
    return one(streams.record(streams.stream(call.stream)));
  else if constexpr (std::is_same_v<Message, EventSync>)
    return one(streams.event(call.event));
  else
    return streams.record_all();
}

template <class Message>
void Session::synchronize(const Header& header, const Message& call) {
  if (header.request == 0) return;
  bool late = !deferred_.empty();
  if constexpr (std::is_same_v<Message, StreamSync>)
    late = late && deferred_.concerns(gpu().streams(), call.stream);
  else if constexpr (std::is_same_v<Message, EventSync>)
    late = false;
  waits_.add({.events = late ? nullptr : events_of(call),
              .then =
                  [this, header, pairs = call.pairs](CUresult status) {
                    if (status != CUDA_SUCCESS) return replies_.report(header, status);
                    replies_.reply(header, gpu_->streams().elapsed(pairs));
                  },
              .copies = late ? deferred_.added() : 0,
              .late = late ? std::function([this, call] { return events_of(call); }) : nullptr});
}

void Session::handle(const Header& header, const StreamQuery& call) {
  replies_.report(header, deferred_.is_of(call.stream) ? CUDA_ERROR_NOT_READY
                                                       : gpu().streams().query_stream(call.stream));
}

void Session::handle(const Header& header, const EventQuery& call) {
  replies_.report(header, gpu().streams().query_event(call.event));
}

void Session::handle(const Header& header, const FenceSync& /*call*/) {
  report_after(header, gpu().streams().last_fence());
}

void Session::report_after(const Header& header, std::shared_ptr<Event> event) {
  waits_.add({.events = event ? one(std::move(event)) : nullptr,
              .then = [this, header](CUresult status) { replies_.report(header, status); }});
}

void Session::after_all(const Header& header, std::function<void()> work) {
  std::shared_ptr<Events> events;
  status_of([&] { events = gpu().streams().record_all(); });
  waits_.add({.events = std::move(events),
              .then = [this, header, work = std::move(work)](CUresult /*status*/) {
                replies_.report(header, status_of([&work] { work(); }));
              }});
}

// The requester frees the memory next.
void Session::handle(const Header& header, const Detach& call) {
  after_all(header, [this, call] { gpu_->run(call); });
}

void Session::handle(const Header& header, const Ping& /*call*/) {
  replies_.report(header, CUDA_SUCCESS);
}

void Session::handle(const Header& header, const AskServer& /*call*/) {
  replies_.reply(header, ServerFacts{.version = GPUCAST_VERSION, .clients = processes_beside()});
}

void Session::handle(const Header& header, const Open& /*call*/) {
  Opened result;
  if (gpu_) throw ProtocolError("the GPU is open already");
  try {
    if (options_.image_cache >= 0) images_ = std::make_unique<ImageCache>(options_.image_cache);
    gpu_ = std::make_unique<Gpu>(options_.libcuda, options_.gpu, options_.most_memory,
                                 host_key(log_), images_.get());
    staging_ = std::make_unique<Staging>(gpu_->driver());
    segments_ = std::make_unique<Segments>(gpu_->driver(), options_.most_segments);
    result.device = gpu_->describe();
    bulk_.serve(*gpu_, options_.spin);
  } catch (const std::runtime_error& error) {
    gpu_.reset();
    result.problem = error.what();
    result.problem.resize(std::min(result.problem.size(), most_text_bytes));
  }
  replies_.reply(header, std::move(result));
}

void Session::wait_until(const std::function<bool()>& done) {
  const auto begin = Clock::now();
  while (!done()) {
    tend();
    take_back_staging(true);
    if (Clock::now() - begin < busy)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(nap);
  }
}

// All slots may wait for the GPU, or for the client to read.
Staging::Slot Session::staging_slot(std::size_t bytes) {
  Staging::Slot slot;
  wait_until([&] {
    slot = staging_->take(bytes);
    return slot.data != nullptr;
  });
  return slot;
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
  // The next message is read meanwhile: usually the client waits for this copy, and has already
  // said so.
  check(bulk_.to_device(call, stream, status, [this] {
    tend();
    inbox_.read(*control_);
  }));
  if (call.fence != 0) gpu().streams().fence(call.stream);
  replies_.report(header, CUDA_SUCCESS);
}

void Session::handle(const Header& header, const CopyFrom& call) {
  CUstream stream = nullptr;
  CUresult status =
      status_of([&] { stream = stream_for_copy(call.stream, call.from, call.bytes); });
  if (call.piece != 0) {
    if (call.piece < least_piece || call.piece > piece_bytes || call.connections == 0 ||
        call.connections > most_bulk_connections) {
      throw ProtocolError("a copy's pieces");
    }
    deferred_.add(call, stream, status, [this, header](CUresult queued) {
      // A failure is reported in place of the data.
      if (header.request != 0) replies_.report(header, queued);
    });
    advance_deferred();
    return;
  }
  if (call.bytes > most_inline) throw ProtocolError("a copy is too long for its answer");
  Staging::Slot slot;
  std::shared_ptr<Event> done;
  if (status == CUDA_SUCCESS) {
    status = status_of([&] {
      slot = staging_slot(call.bytes);
      check(gpu().driver().cuMemcpyDtoHAsync(slot.data, call.from, call.bytes, stream));
      done = gpu().streams().record(stream);
    });
  }
  if (status != CUDA_SUCCESS) return copied_from(header, call, slot, status);
  waits_.add({.events = one(std::move(done)), .then = [this, header, call, slot](CUresult then) {
                copied_from(header, call, slot, then);
              }});
}

void Session::copied_from(const Header& header, const CopyFrom& call, const Staging::Slot& slot,
                          CUresult status) {
  const Bytes data(slot.data, status == CUDA_SUCCESS ? call.bytes : 0);
  if (header.request == 0)
    replies_.data({.transfer = call.transfer, .status = status, .tail = {data}});
  else if (status == CUDA_SUCCESS)
    replies_.reply(header, Nothing{}, data);
  else
    replies_.report(header, status);
  Staging::give_back(slot);
}

// ---- memory of the client that is shared with this process ----

void Session::handle(const Header& header, const SegmentMap& call) {
  gpu();
  if (!control_->shares_memory()) throw ProtocolError("memory over a connection that shares none");
  SharedMemory memory;
  try {
    memory = control_->take(call.bytes);
  } catch (const ConnectionLost&) {
    throw;
  } catch (const std::runtime_error&) {
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  }
  segments_->add(call.segment, std::move(memory));
  replies_.report(header, CUDA_SUCCESS);
}

void Session::handle(const Header& header, const SegmentUnmap& call) {
  after_all(header, [this, call] { segments_->remove(call.segment); });
}

void Session::handle(const Header& header, const CopyToShared& call) {
  follow(header, call, [&] {
    auto* const stream = stream_for_copy(call.stream, call.to, call.bytes);
    const std::byte* from = segments_->find(call.segment, call.offset, call.bytes);
    check(gpu().driver().cuMemcpyHtoDAsync(call.to, from, call.bytes, stream));
    if (call.fence != 0) gpu().streams().fence(call.stream);
    return stream;
  });
}

void Session::handle(const Header& header, const CopyFromShared& call) {
  follow(header, call, [&] {
    auto* const stream = stream_for_copy(call.stream, call.from, call.bytes);
    std::byte* to = segments_->find(call.segment, call.offset, call.bytes);
    check(gpu().driver().cuMemcpyDtoHAsync(to, call.from, call.bytes, stream));
    return stream;
  });
}

template <class Message, class Body>
void Session::follow(const Header& header, const Message& call, Body queue) {
  std::shared_ptr<Event> done;
  CUstream stream = nullptr;
  const bool told = header.request != 0 || call.transfer != 0;
  const CUresult status = status_of([&] {
    stream = queue();
    if (told) done = gpu().streams().record(stream);
  });
  if (header.request == 0 && call.transfer != 0) {
    if (status == CUDA_SUCCESS) return notices_.add(stream, call.transfer, std::move(done));
    if constexpr (std::is_same_v<Message, CopyToShared>) replies_.report(header, status);
    return replies_.data({.transfer = call.transfer, .status = status});
  }
  if (header.request == 0 || status != CUDA_SUCCESS) return replies_.report(header, status);
  report_after(header, std::move(done));
}

void Session::handle(const Header& header, const LaunchHost& call) {
  host_functions_.queue(gpu().driver(), gpu().streams(), call);
  replies_.report(header, CUDA_SUCCESS);
}

void Session::handle(const Header& header, const GraphData& call) {
  wait_until([&] { return gpu().graphs().take(call); });
  replies_.report(header, CUDA_SUCCESS);
}

// The client expects each piece, or its failure.
void Session::handle(const Header& header, const GraphLaunch& call) {
  std::optional<Graphs::Launched> launched;
  const CUresult status = status_of([&] {
    wait_until([&] {
      launched = gpu().graphs().launch(call);
      return launched.has_value();
    });
  });
  if (status != CUDA_SUCCESS || !launched) {
    for (std::uint32_t k = 0; k < std::min<std::uint32_t>(call.pieces, most_graph_pieces); ++k)
      replies_.data({.transfer = call.transfer + k, .status = status});
    // The failure is reported in place of the data, if there is some.
    if (header.request != 0 || call.pieces == 0) replies_.report(header, status);
    return;
  }
  const auto events = one(launched->done);
  for (std::size_t k = 0; k < launched->pieces.size(); ++k) {
    waits_.add({.events = events,
                .then = [this, transfer = call.transfer + k, piece = launched->pieces[k],
                         memory = launched->memory](CUresult then) {
                  const Bytes data = then == CUDA_SUCCESS ? piece : Bytes();
                  replies_.data({.transfer = transfer, .status = then, .tail = {data}});
                }});
  }
  replies_.report(header, CUDA_SUCCESS);
}

}  // namespace gpucast::remote::server

#include "client/gpu.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <utility>

#include "client/quiet_thread.h"
#include "client/status.h"
#include "protocol/heartbeat.h"
#include "transport/sockets.h"

namespace gpucast::remote::client {
namespace {

constexpr std::chrono::seconds to_connect(5);

Which overlapping(Bytes data) {
  return [data](const PendingReceive& each) {
    return each.to < data.data() + data.size() && data.data() < each.to + each.bytes;
  };
}

// Earlier copies to the same memory that may bring their data after this one. Copies of the same
// shape do not: each connection brings the same part of both, in order.
Which in_no_order_with(Bytes memory, std::size_t piece) {
  return [memory, piece, overlaps = overlapping(memory)](const PendingReceive& each) {
    const bool alike = each.piece == piece &&
                       (piece == 0 || (each.to == memory.data() && each.bytes == memory.size()));
    return !alike && overlaps(each);
  };
}

}  // namespace

Gpu::Gpu(Endpoint endpoint, const ClientSettings& settings)
    : endpoint_(std::move(endpoint)), settings_(settings), synchronous_(settings.synchronous) {
  try {
    open();
  } catch (const std::exception& error) {
    close();
    throw std::runtime_error(endpoint_.text() + ": " + error.what());
  }
}

Gpu::~Gpu() { close(); }

void Gpu::close() noexcept {
  closed_ = true;
  lose("");
  host_functions_.close();
  // Not under the lock: they may just be losing the server.
  if (BulkConnections* bulk = opened_bulk()) bulk->join();
  if (watcher_.joinable()) watcher_.join();
}

std::unique_ptr<Connection> Gpu::connect(Greeting greeting) {
  const Deadline deadline = Clock::now() + to_connect;
  auto connection = shake_hands(connect_to(endpoint_, deadline), greeting, session_,
                                settings_.credentials, deadline);
  const bool is_counted = greeting.purpose == Purpose::control || greeting.purpose == Purpose::bulk;
  if (!is_counted) return connection;
  return flows_.counted(greeting.number, std::move(connection));
}

void Gpu::open() {
  control_ =
      std::make_unique<ControlConnection>(connect({Purpose::control}), receives_, settings_.spin);
  monitor_ = connect({Purpose::monitor});
  watcher_ = quiet_thread([this] { watch(*monitor_); });
  const auto opened = decode<Opened>(control_->call(Open{}).body);
  if (!opened.problem.empty()) throw std::runtime_error(opened.problem);
  device_ = opened.device;
  opened_ = true;
}

int Gpu::attribute(int which) const {
  const auto k = static_cast<std::size_t>(which);
  return k < device_.attributes.size() ? device_.attributes[k] : 0;
}

// Blocked calls are woken by closing the connections under them.
void Gpu::watch(Connection& monitor) noexcept {
  try {
    std::array<std::byte, 512> said{};
    BeatReader beats;
    Stalls stalls;
    // What was not taken is offered again as it was.
    int unsent = 0;
    for (Heartbeat heartbeat; !heartbeat.stopped();) {
      heartbeat.next();
      for (++unsent; unsent > 0; --unsent) {
        const std::byte number = heartbeat.number(unsent - 1);
        if (monitor.try_write({&number, 1}, {}, MemoryOf::library) != 1) break;
      }
      const auto next_beat = Clock::now() + beat_pause;
      // Where several have piled up, the last counts.
      std::vector<FlowReport> last;
      do {
        monitor.wait({.read = true}, next_beat);
        const std::size_t got = monitor.try_read(said, MemoryOf::library);
        beats.add(std::span(said).first(got));
        while (auto beat = beats.next()) {
          heartbeat.heard(beat->heard);
          last = std::move(beat->flows);
        }
      } while (Clock::now() < next_beat);
      stalls.note(flows_.states(), last);
      if (const auto stuck = stalls.stuck()) {
        return lose(*stuck == 0 ? "nothing passes through its control connection any more"
                                : "nothing passes through a connection for large copies any more");
      }
    }
    lose("no answer in time");
  } catch (const std::exception& error) {
    lose(error.what());
  }
}

// Without a reason where this end ends it.
void Gpu::lose(const std::string& why) noexcept {
  if (lost_.exchange(true)) return;
  // While it is opened, who opens it tells.
  if (!why.empty() && opened_) {
    std::fprintf(stderr, "gpucast remote: lost the GPU server %s: %s\n", endpoint_.text().c_str(),
                 why.c_str());
  }
  receives_.give_up();
  host_functions_.shut_down();
  if (control_) control_->shut_down();
  if (monitor_) monitor_->shut_down();
  if (BulkConnections* bulk = opened_bulk()) bulk->shut_down();
}

// Whoever still writes is on a connection that is closed.
Status Gpu::gone() noexcept {
  receives_.wait_for_landings();
  return closed_ ? Status{cudaErrorCudartUnloading} : status_lost;
}

BulkConnections& Gpu::bulk() {
  const std::lock_guard lock(bulk_mutex_);
  if (lost_) throw ConnectionLost("the connection is closed");
  if (!bulk_) {
    std::vector<std::unique_ptr<Connection>> connections;
    connections.reserve(static_cast<std::size_t>(settings_.bulk_connections));
    for (int k = 1; k <= settings_.bulk_connections; ++k)
      connections.push_back(connect({Purpose::bulk, static_cast<std::uint8_t>(k)}));
    bulk_ = std::make_unique<BulkConnections>(std::move(connections), receives_, settings_.spin,
                                              [this](const std::string& why) { lose(why); });
    // Who lost the server meanwhile did not know of them.
    if (lost_) bulk_->shut_down();
  }
  return *bulk_;
}

BulkConnections* Gpu::opened_bulk() {
  const std::lock_guard lock(bulk_mutex_);
  return bulk_.get();
}

// ---- synchronization ----

void Gpu::wait_for(const Which& which) {
  if (receives_.nothing()) return;
  control_->read_receives(which);
  if (!receives_.wait_for_bulk(which, meanwhile_, settings_.spin)) require(status_lost);
}

void Gpu::come_to(const Which& which) {
  if (!into_shared_.nothing()) into_shared_.arrived(which);
  wait_for(which);
}

// Each is told once, whichever way it came.
Status Gpu::first_error(Status status) {
  const Status latched = control_->take_latched();
  const Status failed = receives_.take_failure();
  for (const Status each : {status, latched}) {
    if (each != 0) return each;
  }
  return failed;
}

template <class Message>
Status Gpu::synchronize_by(Message message, const Which& which) {
  return guarded([&] {
    std::vector<EventTimes::Wanted> wanted;
    const Answered answer = control_->call(message, [&] {
      wanted = times_.wanted();
      for (const auto& each : wanted)
        message.pairs.push_back(each.pair);
    });
    if (answer.status == 0) times_.keep(wanted, decode<Elapsed>(answer.body));
    come_to(which);
    // Where the GPU has failed they never come.
    if (answer.status != 0) host_functions_.forget(which);
    return first_error(answer.status);
  });
}

Status Gpu::synchronize_stream(Id stream) {
  return synchronize_by(StreamSync{.stream = stream}, order_.before(stream, new_id()));
}
Status Gpu::synchronize_event(Id event) {
  return synchronize_by(EventSync{.event = event}, order_.before_event(event));
}
Status Gpu::synchronize() {
  return synchronize_by(
      DeviceSync{}, [now = new_id()](const PendingReceive& each) { return each.transfer < now; });
}

Status Gpu::wait_for_fences() {
  const std::uint64_t sent = fences_;
  std::uint64_t waited = fences_waited_;
  if (waited >= sent) return 0;
  const Status status = call(FenceSync{});
  while (status == 0 && waited < sent && !fences_waited_.compare_exchange_weak(waited, sent)) {
  }
  return status;
}

template <class Message>
Status Gpu::query_by(const Message& message, const Which& which) {
  const Status status = call(message);
  if (status == 0 && !into_shared_.nothing()) into_shared_.arrived(which);
  return status == 0 && !receives_.none(which) ? Status{cudaErrorNotReady} : status;
}

Status Gpu::query_stream(Id stream) {
  return query_by(StreamQuery{.stream = stream}, order_.before(stream, new_id()));
}
Status Gpu::query_event(Id event) {
  return query_by(EventQuery{.event = event}, order_.before_event(event));
}

Status Gpu::settle() {
  return guarded([&] {
    BulkConnections* bulk = opened_bulk();
    if (bulk != nullptr && !bulk->wait_until_sent(meanwhile_)) require(status_lost);
    wait_for([](const PendingReceive&) { return true; });
    // Nobody tells of these: all that the GPU has to do is done then, whatever becomes of it.
    const Id now = new_id();
    if (!shared_copies_.exchange(false)) return;
    control_->call(DeviceSync{});
    into_shared_.arrived([now](const PendingReceive& each) { return each.transfer < now; });
  });
}

// ---- copies ----

Status Gpu::copy_to(Address to, const void* from, std::size_t bytes, Id stream, bool blocking,
                    bool pinned) {
  const Bytes data(static_cast<const std::byte*>(from), bytes);
  return guarded([&] {
    if (pinned && !blocking) wait_for_functions(stream);
    // What an earlier copy still has to bring is what this one is to send.
    wait_for(overlapping(data));
    StagedCopies* through = bytes >= least_staged && (blocking || !pinned) ? staged() : nullptr;
    if (through != nullptr) {
      count(&Counter::bytes_sent, bytes);
      require(through->to_device(to, data, stream, blocking));
    } else if (bytes <= settings_.most_inline) {
      require(
          send_unguarded(CopyTo{.to = to, .stream = stream, .fence = blocking, .tail = {data}}));
    } else {
      send_bulk(to, data, stream, blocking, pinned);
    }
    // To the program a blocking copy waits for its stream, which shows in the memory that the
    // stream's copies write.
    if (!blocking || (receives_.nothing() && into_shared_.nothing())) return;
    settle_shared(stream);
  });
}

void Gpu::settle_shared(Id stream) {
  const Which before = order_.before(stream, new_id());
  if (!into_shared_.none(before)) control_->call(StreamSync{.stream = stream});
  come_to(before);
}

void Gpu::send_bulk(Address to, Bytes data, Id stream, bool blocking, bool pinned) {
  BulkConnections& connections = bulk();
  const CopyToBulk message{
      .to = to, .bytes = data.size(), .stream = stream, .transfer = new_id(), .fence = blocking};
  const bool waits = blocking || !pinned;
  using Await = BulkConnections::Await;
  const Await await = !waits ? Await::nothing : synchronous_ ? Await::later : Await::at_once;
  count(&Counter::bytes_sent, data.size());
  const Status status =
      send_unguarded(message, [&] { connections.send(message.transfer, data, await); });
  if (waits) require(connections.wait_until_sent(message.transfer, meanwhile_));
  require(status);
}

Status Gpu::copy_from(void* to, Address from, std::size_t bytes, Id stream, bool asynchronous) {
  const Id transfer = new_id();
  return guarded([&]() -> Status {
    if (stream == legacy_stream) order_.meet(transfer);
    const bool waits = !asynchronous || synchronous_;
    const std::span<std::byte> into(static_cast<std::byte*>(to), bytes);
    StagedCopies* through = waits && bytes >= least_staged ? staged() : nullptr;
    if (through != nullptr) {
      count(&Counter::bytes_received, bytes);
      const Status status = through->from_device(into, from, stream);
      come_to(order_.before(stream, transfer + 1));
      return first_error(status);
    }
    const bool in_message = bytes <= settings_.most_inline;
    const std::size_t connections = in_message ? 0 : bulk().size();
    const std::size_t piece = in_message ? 0 : piece_of(bytes, connections);
    const CopyFrom message{.from = from,
                           .bytes = bytes,
                           .stream = stream,
                           .transfer = transfer,
                           .piece = static_cast<std::uint32_t>(piece),
                           .connections = static_cast<std::uint16_t>(connections)};
    wait_for(in_no_order_with(into, piece));
    const auto expect = [&] {
      receives_.expect({.transfer = transfer,
                        .stream = stream,
                        .apart = order_.apart(stream),
                        .to = static_cast<std::byte*>(to),
                        .bytes = bytes,
                        .piece = piece},
                       in_message);
    };
    if (!in_message) count(&Counter::bytes_received, bytes);
    if (!waits) {
      control_->send(message, expect);
      return 0;
    }
    // A copy in pieces has no data in its answer, only the status of what failed before.
    // Straight to where it belongs, unless earlier copies might still write there.
    const bool straight = in_message && receives_.nothing();
    const Answered answer = straight     ? control_->call_into(message, into)
                            : in_message ? control_->call(message)
                                         : control_->call(message, expect);
    if (answer.status != 0 && !in_message) receives_.failed(transfer, answer.status);
    // The data that the stream's earlier copies bring is there too.
    come_to(order_.before(stream, transfer + 1));
    if (answer.status == 0 && in_message && !straight) {
      if (answer.body.size() != bytes) throw ProtocolError("a copy came back in another size");
      std::ranges::copy(answer.body, into.begin());
    }
    return first_error(answer.status);
  });
}

// ---- memory that the server has, too ----

Status Gpu::map_segment(Id segment, const SharedMemory& memory) {
  return guarded([&] {
    const SegmentMap message{.segment = segment, .bytes = memory.bytes().size()};
    return control_->call_with(message, memory).status;
  });
}

StagedCopies* Gpu::staged() {
  if (!shares_memory()) return nullptr;
  std::call_once(staged_once_, [this] { staged_ = StagedCopies::make(*this, *control_); });
  return staged_.get();
}

Status Gpu::copy_to(Address to, const Place& from, std::size_t bytes, Id stream, bool blocking) {
  const CopyToShared message{
      .to = to, .segment = from.segment, .offset = from.offset, .bytes = bytes, .stream = stream};
  count(&Counter::bytes_sent, bytes);
  return guarded([&]() -> Status {
    // What a graph brings comes as messages, and this copy reads the memory itself.
    if (!receives_.nothing()) wait_for(order_.before(stream, new_id()));
    if (!blocking) {
      shared_copies_ = true;
      return send_unguarded(message);
    }
    return wait_for_copy(message, new_id());
  });
}

Status Gpu::copy_from(const Place& to, Address from, std::size_t bytes, Id stream,
                      bool asynchronous) {
  const CopyFromShared message{
      .from = from, .segment = to.segment, .offset = to.offset, .bytes = bytes, .stream = stream};
  count(&Counter::bytes_received, bytes);
  return guarded([&]() -> Status {
    if (asynchronous) {
      shared_copies_ = true;
      return send_unguarded(message, [&] { expect_in_shared(bytes, stream); });
    }
    return wait_for_copy(message, new_id());
  });
}

void Gpu::expect_in_shared(std::size_t bytes, Id stream) {
  into_shared_.expect({.transfer = new_id(),
                       .stream = stream,
                       .apart = order_.apart(stream),
                       .to = nullptr,
                       .bytes = bytes},
                      false);
}

template <class Message>
Status Gpu::wait_for_copy(const Message& message, Id now) {
  if (message.stream == legacy_stream) order_.meet(now);
  const Answered answer = control_->call(message);
  // The data that the stream's earlier copies bring is there too.
  come_to(order_.before(message.stream, now));
  return first_error(answer.status);
}

// ---- functions of the program ----

Status Gpu::launch_host(Id stream, HostFunctions::Body body) {
  return guarded([&] {
    host_functions_.open([this] { return connect({Purpose::host}); },
                         [this](const Which& which) { wait_for(which); },
                         [this](const std::string& why) { lose(why); });
    const LaunchHost message{.stream = stream, .function = new_id()};
    return send_unguarded(message, [&] {
      host_functions_.expect(
          {.transfer = message.function, .stream = stream, .apart = order_.apart(stream)},
          order_.before(stream, message.function), std::move(body));
    });
  });
}

void Gpu::keep_few_behind_functions() {
  constexpr std::size_t few = 256;
  if (behind_functions_.fetch_add(1, std::memory_order_relaxed) < few) return;
  let_functions_run();
  behind_functions_ = 0;
}

// ---- graphs ----

Status Gpu::launch_graph(Id graph, const std::vector<Bytes>& sends,
                         const std::vector<std::span<std::byte>>& receives, Id stream) {
  return guarded([&] {
    if (!sends.empty()) wait_for_functions(stream);
    std::size_t total = 0;
    // Copies into shared memory do not come by here: what they bring may be what is sent.
    if (!sends.empty() && !into_shared_.nothing()) settle_shared(stream);
    for (const Bytes each : sends) {
      wait_for(overlapping(each));
      total += each.size();
    }
    GraphLaunch message{.graph = graph, .stream = stream};
    std::vector<std::byte> gathered;
    if (sends.size() == 1 && total <= most_inline) {
      message.tail = {sends.front()};
    } else if (total <= most_inline) {
      for (const Bytes each : sends)
        gathered.insert(gathered.end(), each.begin(), each.end());
      message.tail = {gathered};
    } else {
      for (Bytes rest : sends) {
        while (!rest.empty()) {
          const Bytes piece = rest.first(std::min(rest.size(), most_inline));
          require(send_unguarded(GraphData{.graph = graph, .tail = {piece}}));
          rest = rest.subspan(piece.size());
        }
      }
    }
    std::vector<std::span<std::byte>> pieces;
    for (std::span<std::byte> rest : receives) {
      while (!rest.empty()) {
        pieces.push_back(rest.first(std::min(rest.size(), most_inline)));
        rest = rest.subspan(pieces.back().size());
      }
    }
    message.transfer = new_ids(std::max<std::size_t>(pieces.size(), 1));
    message.pieces = static_cast<std::uint32_t>(pieces.size());
    const auto expect = [&] {
      const bool apart = order_.apart(stream);
      for (std::size_t k = 0; k < pieces.size(); ++k) {
        receives_.expect({.transfer = message.transfer + k,
                          .stream = stream,
                          .apart = apart,
                          .to = pieces[k].data(),
                          .bytes = pieces[k].size()},
                         true);
      }
    };
    const Status status = send_unguarded(message, expect);
    if (synchronous_) wait_for(order_.before(stream, message.transfer + pieces.size()));
    return synchronous_ ? first_error(status) : status;
  });
}

// ---- streams and events ----

Status Gpu::create_stream(Id stream, unsigned flags, int priority) {
  order_.create(stream, (flags & cudaStreamNonBlocking) != 0);
  return send(StreamCreate{.stream = stream, .flags = flags, .priority = priority});
}

Status Gpu::destroy_stream(Id stream) {
  order_.destroy(stream);
  return send(StreamDestroy{.stream = stream});
}

Status Gpu::record_event(Id event, Id stream) {
  return guarded([&] {
    return send_unguarded(EventRecord{.event = event, .stream = stream}, [&] {
      times_.recorded(event);
      order_.record(event, stream, new_id());
    });
  });
}

Status Gpu::wait_event(Id stream, Id event) {
  order_.wait(stream, event);
  return send(StreamWaitEvent{.stream = stream, .event = event});
}

Status Gpu::elapsed(EventPair pair, float& milliseconds) {
  if (const auto known = times_.known(pair)) {
    milliseconds = *known;
    return 0;
  }
  return guarded([&] {
    EventTimes::Wanted wanted;
    const Answered answer =
        control_->call(EventElapsed{.pair = pair}, [&] { wanted = times_.want(pair); });
    require(answer.status);
    const auto result = decode<Elapsed>(answer.body);
    times_.keep({wanted}, result);
    milliseconds = result.milliseconds.front();
  });
}

void Gpu::forget_event(Id event) {
  times_.forget(event);
  order_.forget_event(event);
}

Status Gpu::reset() {
  let_functions_run();
  const Status status = call(Reset{});
  modules.forget_all();
  order_.forget_all();
  ++generation_;
  return status;
}

}  // namespace gpucast::remote::client

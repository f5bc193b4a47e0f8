#include "client/gpu.h"

#include <cstdio>

#include "protocol/heartbeat.h"

namespace gpucast::remote::client {
namespace {

constexpr std::chrono::seconds to_connect(5);

bool everything(const PendingReceive& /*receive*/) { return true; }

Which older_than(Id now) {
  return [now](const PendingReceive& receive) { return receive.transfer < now; };
}

Which overlapping(Bytes data) {
  return [data](const PendingReceive& receive) {
    return receive.to < data.data() + data.size() && data.data() < receive.to + receive.bytes;
  };
}

// Selects earlier copies to the same memory whose data may arrive after this copy's. Copies of the
// same shape are excluded: each connection brings the same part of both, in order.
Which in_no_order_with(Bytes memory, std::size_t piece) {
  return [memory, piece, overlaps = overlapping(memory)](const PendingReceive& earlier) {
    const bool same_shape =
        earlier.piece == piece &&
        (piece == 0 || (earlier.to == memory.data() && earlier.bytes == memory.size()));
    return !same_shape && overlaps(earlier);
  };
}

// Splits the memory into pieces that fit into a message.
template <class Byte>
std::vector<std::span<Byte>> in_pieces(std::span<Byte> memory) {
  std::vector<std::span<Byte>> result;
  for (; !memory.empty(); memory = memory.subspan(result.back().size()))
    result.push_back(memory.first(std::min(memory.size(), most_inline)));
  return result;
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
  // Not under the lock: the threads may be reporting that the server is lost.
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
  watcher_ = support::quiet_thread([this] { watch(*monitor_); });
  const auto opened = decode<Opened>(control_->call(Open{}).body);
  if (!opened.problem.empty()) throw std::runtime_error(opened.problem);
  device_ = opened.device;
  opened_ = true;
}

int Gpu::attribute(int which) const {
  const auto k = static_cast<std::size_t>(which);
  return k < device_.attributes.size() ? device_.attributes[k] : 0;
}

// Blocked calls are woken by closing their connections.
void Gpu::watch(Connection& monitor) noexcept {
  try {
    std::array<std::byte, 512> heard{};
    BeatReader beats;
    Stalls stalls;
    // Beats that the connection did not take are offered again unchanged.
    int unsent = 0;
    for (Heartbeat heartbeat; !heartbeat.stopped();) {
      heartbeat.next();
      for (++unsent; unsent > 0; --unsent) {
        const std::byte number = heartbeat.number(unsent - 1);
        if (monitor.try_write({&number, 1}, {}, MemoryOf::library) != 1) break;
      }
      const auto next_beat = Clock::now() + beat_pause;
      // If several beats have accumulated, only the last one counts.
      std::vector<FlowReport> last;
      do {
        monitor.wait({.read = true}, next_beat);
        const std::size_t got = monitor.try_read(heard, MemoryOf::library);
        beats.add(std::span(heard).first(got));
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

// `why` is empty if this end closes the connection.
void Gpu::lose(const std::string& why) noexcept {
  if (lost_.exchange(true)) return;
  // While the connection is being opened, its opener reports the error.
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

// Any thread that still writes uses a closed connection.
void Gpu::gone() {
  receives_.wait_for_landings();
  throw Failure{closed_ ? cudaErrorCudartUnloading : to_error(status_lost)};
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
    // A thread that lost the server meanwhile did not know these connections.
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

void Gpu::require_no_error(Status status) {
  const Status latched = control_->take_latched();
  const Status failed = receives_.take_failure();
  for (const Status first : {status, latched, failed})
    require(first);
}

template <class Message>
void Gpu::synchronize_by(Message message, const Which& which) {
  guarded([&] {
    std::vector<EventTimes::Wanted> wanted;
    const Answered answer = control_->call(message, [&] {
      wanted = times_.wanted();
      for (const auto& wish : wanted)
        message.pairs.push_back(wish.pair);
    });
    if (answer.status == 0) times_.keep(wanted, decode<Elapsed>(answer.body));
    come_to(which);
    // If the GPU has failed, the functions never get their turn.
    if (answer.status != 0) host_functions_.forget(which);
    require_no_error(answer.status);
  });
}

void Gpu::synchronize_stream(Id stream) {
  synchronize_by(StreamSync{.stream = stream}, order_.before(stream, new_id()));
}
void Gpu::synchronize_event(Id event) {
  synchronize_by(EventSync{.event = event}, order_.before_event(event));
}
void Gpu::synchronize() { synchronize_by(DeviceSync{}, older_than(new_id())); }

void Gpu::wait_for_fences() {
  const std::uint64_t sent = fences_;
  std::uint64_t waited = fences_waited_;
  if (waited >= sent) return;
  call(FenceSync{});
  while (waited < sent && !fences_waited_.compare_exchange_weak(waited, sent)) {
  }
}

template <class Message>
bool Gpu::query_by(const Message& message, const Which& which) {
  return guarded([&] {
    const Status status = control_->call(message).status;
    if (status == Status{cudaErrorNotReady}) return false;
    require(status);
    if (!into_shared_.nothing()) into_shared_.arrived(which);
    return receives_.none(which);
  });
}

bool Gpu::query_stream(Id stream) {
  return query_by(StreamQuery{.stream = stream}, order_.before(stream, new_id()));
}
bool Gpu::query_event(Id event) {
  return query_by(EventQuery{.event = event}, order_.before_event(event));
}

void Gpu::settle() {
  guarded([&] {
    BulkConnections* bulk = opened_bulk();
    if (bulk != nullptr && !bulk->wait_until_sent(meanwhile_)) require(status_lost);
    wait_for(everything);
    // No answer tells when these end: all work of the GPU is finished at this point, or has failed.
    const Id now = new_id();
    if (!shared_copies_.exchange(false)) return;
    control_->call(DeviceSync{});
    into_shared_.arrived(older_than(now));
  });
}

// ---- copies: within their message, through memory shared by both sides, or over the bulk
// connections ----

PendingReceive Gpu::receive(Id transfer, Id stream, std::span<std::byte> to,
                            std::size_t piece) const {
  return {.transfer = transfer,
          .stream = stream,
          .apart = order_.apart(stream),
          .to = to.data(),
          .bytes = to.size(),
          .piece = piece};
}

void Gpu::copy_to(Address to, const void* from, std::size_t bytes, Id stream, bool blocking,
                  bool pinned) {
  const Bytes data(static_cast<const std::byte*>(from), bytes);
  guarded([&] {
    if (pinned && !blocking) wait_for_functions(stream);
    // This copy has to send the data that an earlier copy may still bring.
    wait_for(overlapping(data));
    StagedCopies* through = bytes >= least_staged && (blocking || !pinned) ? staged() : nullptr;
    if (through != nullptr) {
      count(&Counter::bytes_sent, bytes);
      through->to_device(to, data, stream, blocking);
    } else if (bytes <= settings_.most_inline) {
      require(
          send_unguarded(CopyTo{.to = to, .stream = stream, .fence = blocking, .tail = {data}}));
    } else {
      send_bulk(to, data, stream, blocking, pinned);
    }
    // For the program a blocking copy waits for its stream, which is visible in the memory that the
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

void Gpu::copy_from(void* to, Address from, std::size_t bytes, Id stream, bool asynchronous) {
  const std::span<std::byte> into(static_cast<std::byte*>(to), bytes);
  const CopyFrom message{.from = from, .bytes = bytes, .stream = stream, .transfer = new_id()};
  guarded([&] {
    if (stream == legacy_stream) order_.meet(message.transfer);
    const bool waits = !asynchronous || synchronous_;
    if (StagedCopies* through = waits && bytes >= least_staged ? staged() : nullptr) {
      count(&Counter::bytes_received, bytes);
      const Status status = status_of([&] { through->from_device(into, from, stream); });
      come_to(order_.before(stream, message.transfer));
      require_no_error(status);
    } else if (bytes <= settings_.most_inline) {
      receive_in_message(message, into, waits);
    } else {
      receive_in_pieces(message, into, waits);
    }
  });
}

void Gpu::receive_in_message(const CopyFrom& message, std::span<std::byte> to, bool waits) {
  wait_for(in_no_order_with(to, 0));
  if (!waits) {
    return control_->send(
        message, [&] { receives_.expect(receive(message.transfer, message.stream, to), true); });
  }
  // The data goes directly to its destination, unless earlier copies may still write there.
  const bool straight = receives_.nothing();
  const Answered answer = straight ? control_->call(message, {}, to) : control_->call(message);
  // The data that the stream's earlier copies bring has arrived too.
  come_to(order_.before(message.stream, message.transfer));
  if (answer.status == 0 && !straight) {
    if (answer.body.size() != to.size()) throw ProtocolError("a copy came back in another size");
    std::ranges::copy(answer.body, to.begin());
  }
  require_no_error(answer.status);
}

// The answer has no data, only the status of earlier failures.
void Gpu::receive_in_pieces(CopyFrom message, std::span<std::byte> to, bool waits) {
  const std::size_t connections = bulk().size();
  const std::size_t piece = piece_of(to.size(), connections);
  message.piece = static_cast<std::uint32_t>(piece);
  message.connections = static_cast<std::uint16_t>(connections);
  wait_for(in_no_order_with(to, piece));
  const auto expect = [&] {
    receives_.expect(receive(message.transfer, message.stream, to, piece), false);
  };
  count(&Counter::bytes_received, to.size());
  if (!waits) return control_->send(message, expect);
  const Answered answer = control_->call(message, expect);
  if (answer.status != 0) receives_.failed(message.transfer, answer.status);
  come_to(order_.before(message.stream, message.transfer + 1));
  require_no_error(answer.status);
}

// ---- memory that is shared with the server ----

bool Gpu::map_segment(Id segment, const SharedMemory& memory) {
  const SegmentMap message{.segment = segment, .bytes = memory.bytes().size()};
  return status_of([&] {
           guarded(
               [&] { require(control_->call(message, [&] { control_->give(memory); }).status); });
         }) == 0;
}

StagedCopies* Gpu::staged() {
  if (!shares_memory()) return nullptr;
  std::call_once(staged_once_, [this] { staged_ = StagedCopies::make(*this, *control_); });
  return staged_.get();
}

void Gpu::copy_to(Address to, const Place& from, std::size_t bytes, Id stream, bool blocking) {
  const CopyToShared message{
      .to = to, .segment = from.segment, .offset = from.offset, .bytes = bytes, .stream = stream};
  count(&Counter::bytes_sent, bytes);
  guarded([&] {
    // A graph's data arrives in messages, and this copy reads the memory directly.
    if (!receives_.nothing()) wait_for(order_.before(stream, new_id()));
    if (blocking) return wait_for_copy(message);
    shared_copies_ = true;
    require(send_unguarded(message));
  });
}

void Gpu::copy_from(const Place& to, Address from, std::size_t bytes, Id stream,
                    bool asynchronous) {
  const CopyFromShared message{
      .from = from, .segment = to.segment, .offset = to.offset, .bytes = bytes, .stream = stream};
  count(&Counter::bytes_received, bytes);
  guarded([&] {
    if (!asynchronous) return wait_for_copy(message);
    shared_copies_ = true;
    require(
        send_unguarded(message, [&] { into_shared_.expect(receive(new_id(), stream), false); }));
  });
}

template <class Message>
void Gpu::wait_for_copy(const Message& message) {
  const Id now = new_id();
  if (message.stream == legacy_stream) order_.meet(now);
  const Answered answer = control_->call(message);
  // The data that the stream's earlier copies bring has arrived too.
  come_to(order_.before(message.stream, now));
  require_no_error(answer.status);
}

// ---- functions of the program ----

void Gpu::launch_host(Id stream, HostFunctions::Body body) {
  guarded([&] {
    host_functions_.open([this] { return connect({Purpose::host}); },
                         [this](const Which& which) { wait_for(which); },
                         [this](const std::string& why) { lose(why); });
    const LaunchHost message{.stream = stream, .function = new_id()};
    require(send_unguarded(message, [&] {
      host_functions_.expect(receive(message.function, stream),
                             order_.before(stream, message.function), std::move(body));
    }));
  });
}

void Gpu::keep_few_behind_functions() {
  constexpr std::size_t few = 256;
  if (behind_functions_.fetch_add(1, std::memory_order_relaxed) < few) return;
  let_functions_run();
  behind_functions_ = 0;
}

// ---- graphs ----

void Gpu::launch_graph(Id graph, const std::vector<Bytes>& sends,
                       const std::vector<std::span<std::byte>>& receives, Id stream) {
  guarded([&] {
    if (!sends.empty()) wait_for_functions(stream);
    // Copies into shared memory are not seen here, and a graph may send what they bring.
    if (!sends.empty() && !into_shared_.nothing()) settle_shared(stream);
    std::size_t total = 0;
    for (const Bytes data : sends) {
      wait_for(overlapping(data));
      total += data.size();
    }
    GraphLaunch message{.graph = graph, .stream = stream};
    std::vector<std::byte> gathered;
    if (sends.size() == 1 && total <= most_inline) {
      message.tail = {sends.front()};
    } else if (total <= most_inline) {
      for (const Bytes data : sends)
        gathered.insert(gathered.end(), data.begin(), data.end());
      message.tail = {gathered};
    } else {
      for (const Bytes data : sends)
        for (const Bytes piece : in_pieces(data))
          require(send_unguarded(GraphData{.graph = graph, .tail = {piece}}));
    }
    std::vector<std::span<std::byte>> pieces;
    for (const std::span<std::byte> memory : receives)
      std::ranges::copy(in_pieces(memory), std::back_inserter(pieces));
    message.transfer = new_ids(std::max<std::size_t>(pieces.size(), 1));
    message.pieces = static_cast<std::uint32_t>(pieces.size());
    const Status status = send_unguarded(message, [&] {
      for (std::size_t k = 0; k < pieces.size(); ++k)
        receives_.expect(receive(message.transfer + k, stream, pieces[k]), true);
    });
    if (!synchronous_) return require(status);
    wait_for(order_.before(stream, message.transfer + pieces.size()));
    require_no_error(status);
  });
}

// ---- streams and events ----

void Gpu::create_stream(Id stream, unsigned flags, int priority) {
  order_.create(stream, (flags & cudaStreamNonBlocking) != 0);
  send(StreamCreate{.stream = stream, .flags = flags, .priority = priority});
}

void Gpu::destroy_stream(Id stream) {
  order_.destroy(stream);
  send(StreamDestroy{.stream = stream});
}

void Gpu::record_event(Id event, Id stream) {
  guarded([&] {
    require(send_unguarded(EventRecord{.event = event, .stream = stream}, [&] {
      times_.recorded(event);
      order_.record(event, stream, new_id());
    }));
  });
}

void Gpu::wait_event(Id stream, Id event) {
  order_.wait(stream, event);
  send(StreamWaitEvent{.stream = stream, .event = event});
}

float Gpu::elapsed(EventPair pair) {
  if (const auto known = times_.known(pair)) return *known;
  return guarded([&] {
    EventTimes::Wanted wanted;
    const Answered answer =
        control_->call(EventElapsed{.pair = pair}, [&] { wanted = times_.want(pair); });
    require(answer.status);
    const auto result = decode<Elapsed>(answer.body);
    times_.keep({wanted}, result);
    return result.milliseconds.front();
  });
}

void Gpu::forget_event(Id event) {
  times_.forget(event);
  order_.forget_event(event);
}

void Gpu::reset() {
  let_functions_run();
  const Status status = status_of([&] { call(Reset{}); });
  modules.forget_all();
  order_.forget_all();
  ++generation_;
  require(status);
}

}  // namespace gpucast::remote::client

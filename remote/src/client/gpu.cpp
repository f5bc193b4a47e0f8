#include "client/gpu.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/quiet_thread.h"
#include "client/status.h"
#include "transport/sockets.h"

namespace gpucast::remote::client {
namespace {

constexpr std::chrono::seconds to_connect(5);
// The server gives a sign of life every second.
constexpr std::chrono::seconds silence(6);

Which overlapping(Bytes data) {
  return [data](const PendingReceive& each) {
    return each.to < data.data() + data.size() && data.data() < each.to + each.bytes;
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
  // Not under the lock: they may just be losing the server.
  if (BulkConnections* bulk = opened_bulk()) bulk->join();
  if (watcher_.joinable()) watcher_.join();
}

std::unique_ptr<Connection> Gpu::connect(Purpose purpose) {
  const Deadline deadline = Clock::now() + to_connect;
  return shake_hands(connect_to(endpoint_, deadline), purpose, session_, settings_.credentials,
                     deadline);
}

void Gpu::open() {
  control_ =
      std::make_unique<ControlConnection>(connect(Purpose::control), receives_, settings_.spin);
  monitor_ = connect(Purpose::monitor);
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
    std::byte beat{};
    for (;;)
      read_some(monitor, {&beat, 1}, Clock::now() + silence);
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
    for (int k = 0; k < settings_.bulk_connections; ++k)
      connections.push_back(connect(Purpose::bulk));
    bulk_ = std::make_unique<BulkConnections>(std::move(connections), receives_,
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
  if (!receives_.wait_for_bulk(which, meanwhile_)) require(status_lost);
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
    wait_for(which);
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
  });
}

// ---- copies ----

Status Gpu::copy_to(Address to, const void* from, std::size_t bytes, Id stream, bool blocking,
                    bool pinned) {
  const Bytes data(static_cast<const std::byte*>(from), bytes);
  return guarded([&] {
    // What an earlier copy still has to bring is what this one is to send.
    wait_for(overlapping(data));
    if (bytes <= most_inline) {
      require(
          send_unguarded(CopyTo{.to = to, .stream = stream, .fence = blocking, .tail = {data}}));
    } else {
      send_bulk(to, data, stream, blocking, pinned);
    }
    // To the program a blocking copy waits for its stream, which shows in the memory that the
    // stream's copies write.
    if (blocking && !receives_.nothing()) wait_for(order_.before(stream, new_id()));
  });
}

void Gpu::send_bulk(Address to, Bytes data, Id stream, bool blocking, bool pinned) {
  BulkConnections& connections = bulk();
  const CopyToBulk message{
      .to = to, .bytes = data.size(), .stream = stream, .transfer = new_id(), .fence = blocking};
  const bool waits = blocking || !pinned;
  count(&Counter::bytes_sent, data.size());
  const Status status =
      send_unguarded(message, [&] { connections.send(message.transfer, data, waits); });
  if (waits) require(connections.wait_until_sent(message.transfer, meanwhile_));
  require(status);
}

Status Gpu::copy_from(void* to, Address from, std::size_t bytes, Id stream, bool asynchronous) {
  const Id transfer = new_id();
  const CopyFrom message{.from = from, .bytes = bytes, .stream = stream, .transfer = transfer};
  return guarded([&]() -> Status {
    if (stream == legacy_stream) order_.meet(transfer);
    const bool in_message = bytes <= most_inline;
    const bool waits = !asynchronous || synchronous_;
    const auto expect = [&] {
      receives_.expect({.transfer = transfer,
                        .stream = stream,
                        .apart = order_.apart(stream),
                        .to = static_cast<std::byte*>(to),
                        .bytes = bytes},
                       in_message);
    };
    if (!in_message) {
      bulk();
      count(&Counter::bytes_received, bytes);
    }
    if (!waits) {
      control_->send(message, expect);
      return 0;
    }
    // A copy in pieces has no data in its answer, only the status of what failed before.
    const Answered answer = in_message ? control_->call(message) : control_->call(message, expect);
    if (answer.status != 0 && !in_message) receives_.failed(transfer, answer.status);
    // The data that the stream's earlier copies bring is there too.
    wait_for(order_.before(stream, transfer + 1));
    if (answer.status == 0 && in_message) {
      if (answer.body.size() != bytes) throw ProtocolError("a copy came back in another size");
      std::ranges::copy(answer.body, static_cast<std::byte*>(to));
    }
    return first_error(answer.status);
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
  const Status status = call(Reset{});
  modules.forget_all();
  order_.forget_all();
  ++generation_;
  return status;
}

}  // namespace gpucast::remote::client

#include "client/gpu.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/greet.h"
#include "client/quiet_thread.h"
#include "client/status.h"
#include "transport/sockets.h"

namespace gpucast::remote::client {
namespace {

constexpr std::chrono::seconds to_connect(5);
// The server gives a sign of life every second.
constexpr std::chrono::seconds silence(6);

Which overlapping(Bytes data) {
  return [data](const Arrival& each) {
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
  Channels* bulk = nullptr;
  {
    const std::lock_guard lock(channels_mutex_);
    bulk = channels_.get();
  }
  // Not under the lock: they may just be losing the server.
  if (bulk != nullptr) bulk->join();
  if (watcher_.joinable()) watcher_.join();
}

std::unique_ptr<Connection> Gpu::connect(Hello hello) const {
  const Deadline deadline = Clock::now() + to_connect;
  auto connection = connect_to(endpoint_, deadline);
  greet(*connection, hello, settings_.secret, deadline);
  return connection;
}

void Gpu::open() {
  const Deadline deadline = Clock::now() + to_connect;
  auto connection = connect_to(endpoint_, deadline);
  Hello hello{.purpose = Purpose::lane};
  greet(*connection, hello, settings_.secret, deadline);
  session_ = hello.session;
  lane_ = std::make_unique<Lane>(std::move(connection), arrivals_, settings_.spin);
  monitor_ = connect({.purpose = Purpose::monitor, .session = session_});
  watcher_ = quiet_thread([this] { watch(*monitor_); });
  const auto opened = decode<Opened>(lane_->ask(Open{}).body);
  if (!opened.problem.empty()) throw std::runtime_error(opened.problem);
  device_ = opened.device;
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
  if (!why.empty()) {
    std::fprintf(stderr, "gpucast remote: lost the GPU server %s: %s\n", endpoint_.text().c_str(),
                 why.c_str());
  }
  arrivals_.give_up();
  if (lane_) lane_->shut_down();
  if (monitor_) monitor_->shut_down();
  const std::lock_guard lock(channels_mutex_);
  if (channels_) channels_->shut_down();
}

// Whoever still writes is on a connection that is closed.
Status Gpu::gone() noexcept {
  arrivals_.wait_for_landings();
  return closed_ ? Status{cudaErrorCudartUnloading} : status_lost;
}

Channels& Gpu::channels() {
  const std::lock_guard lock(channels_mutex_);
  if (lost_) throw ConnectionLost("the connection is closed");
  if (!channels_) {
    std::vector<std::unique_ptr<Connection>> connections;
    connections.reserve(static_cast<std::size_t>(settings_.channels));
    for (int k = 0; k < settings_.channels; ++k) {
      connections.push_back(connect({.purpose = Purpose::channel,
                                     .index = static_cast<std::uint16_t>(k),
                                     .session = session_}));
    }
    channels_ = std::make_unique<Channels>(std::move(connections), arrivals_,
                                           [this](const std::string& why) { lose(why); });
    // Who lost the server meanwhile did not know of them.
    if (lost_) channels_->shut_down();
  }
  return *channels_;
}

// ---- synchronization ----

Status Gpu::wait_for(const Which& which) {
  if (arrivals_.nothing()) return 0;
  lane_->read_arrivals(which);
  const auto meanwhile = [this] { lane_->read_meanwhile(); };
  return arrivals_.wait_for_channels(which, meanwhile) ? 0 : status_lost;
}

// Each is told once, whichever way it came.
Status Gpu::first_error(Status status) {
  const Status latched = lane_->take_latched();
  const Status failed = arrivals_.take_failure();
  for (const Status each : {status, latched}) {
    if (each != 0) return each;
  }
  return failed;
}

template <class Message>
Status Gpu::synchronize_by(Message message, const Which& which) {
  return guarded([&] {
    std::vector<EventTimes::Wanted> wanted;
    const Answered answer = lane_->ask(message, {}, [&] {
      wanted = times_.wanted();
      for (const auto& each : wanted)
        message.pairs.push_back(each.pair);
    });
    if (answer.status == 0) times_.keep(wanted, decode<Elapsed>(answer.body));
    if (const Status lost = wait_for(which); lost != 0) return lost;
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
  return synchronize_by(DeviceSync{},
                        [now = new_id()](const Arrival& each) { return each.transfer < now; });
}

Status Gpu::wait_for_fences() {
  const std::uint64_t sent = fences_;
  std::uint64_t waited = fences_waited_;
  if (waited >= sent) return 0;
  const Status status = ask(FenceSync{});
  while (status == 0 && waited < sent && !fences_waited_.compare_exchange_weak(waited, sent)) {
  }
  return status;
}

Status Gpu::query_stream(Id stream) {
  const Which which = order_.before(stream, new_id());
  const Status status = ask(StreamQuery{.stream = stream});
  return status == 0 && !arrivals_.none(which) ? Status{cudaErrorNotReady} : status;
}

Status Gpu::query_event(Id event) {
  const Which which = order_.before_event(event);
  const Status status = ask(EventQuery{.event = event});
  return status == 0 && !arrivals_.none(which) ? Status{cudaErrorNotReady} : status;
}

Status Gpu::settle() {
  return guarded([&]() -> Status {
    Channels* bulk = nullptr;
    {
      const std::lock_guard lock(channels_mutex_);
      bulk = channels_.get();
    }
    const auto meanwhile = [this] { lane_->read_meanwhile(); };
    if (bulk != nullptr && !bulk->wait_until_sent(meanwhile)) return status_lost;
    return wait_for([](const Arrival&) { return true; });
  });
}

// ---- copies ----

Status Gpu::copy_to(Address to, const void* from, std::size_t bytes, Id stream, bool blocking,
                    bool pinned) {
  const Bytes data(static_cast<const std::byte*>(from), bytes);
  return guarded([&]() -> Status {
    // What an earlier copy still has to bring is what this one is to send.
    if (const Status status = wait_for(overlapping(data)); status != 0) return status;
    if (const Status status = send_to(to, data, stream, blocking, pinned); status != 0) {
      return status;
    }
    // To the program a blocking copy waits for its stream, which shows in the memory that the
    // stream's copies write.
    if (!blocking || arrivals_.nothing()) return 0;
    return wait_for(order_.before(stream, new_id()));
  });
}

Status Gpu::send_to(Address to, Bytes data, Id stream, bool blocking, bool pinned) {
  const auto fence = static_cast<std::uint8_t>(blocking ? 1 : 0);
  if (data.size() <= most_inline) {
    return tell_unguarded(CopyTo{.to = to, .stream = stream, .fence = fence}, data, {});
  }
  Channels& bulk = channels();
  const Id transfer = new_id();
  const bool waits = blocking || !pinned;
  count_sent(data.size());
  const Status status = tell_unguarded(
      CopyToBulk{
          .to = to, .bytes = data.size(), .stream = stream, .transfer = transfer, .fence = fence},
      {}, [&] { bulk.send(transfer, data, waits); });
  const auto meanwhile = [this] { lane_->read_meanwhile(); };
  const Status sent = waits ? bulk.wait_until_sent(transfer, meanwhile) : 0;
  return sent != 0 ? sent : status;
}

Status Gpu::copy_from(void* to, Address from, std::size_t bytes, Id stream, bool asynchronous) {
  const Id transfer = new_id();
  const CopyFrom message{.from = from, .bytes = bytes, .stream = stream, .transfer = transfer};
  return guarded([&]() -> Status {
    if (stream == legacy_stream) order_.meet(transfer);
    const bool in_message = bytes <= most_inline;
    const bool waits = !asynchronous || synchronous_;
    const auto expect = [&] {
      arrivals_.expect({.transfer = transfer,
                        .stream = stream,
                        .apart = order_.apart(stream),
                        .to = static_cast<std::byte*>(to),
                        .bytes = bytes},
                       in_message);
    };
    if (!in_message) {
      channels();
      count_received(bytes);
    }
    if (!waits) {
      lane_->send(message, {}, expect);
      return 0;
    }
    // A copy in pieces has no data in its answer, only the status of what failed before.
    const Answered answer = in_message ? lane_->ask(message) : lane_->ask(message, {}, expect);
    if (answer.status != 0 && !in_message) arrivals_.failed(transfer, answer.status);
    // The data that the stream's earlier copies bring is there too.
    if (const Status lost = wait_for(order_.before(stream, transfer + 1)); lost != 0) return lost;
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
  return tell(StreamCreate{.stream = stream, .flags = flags, .priority = priority});
}

Status Gpu::destroy_stream(Id stream) {
  order_.destroy(stream);
  return tell(StreamDestroy{.stream = stream});
}

Status Gpu::record_event(Id event, Id stream) {
  const auto recorded = [&] {
    times_.recorded(event);
    order_.record(event, stream, new_id());
  };
  return guarded(
      [&] { return tell_unguarded(EventRecord{.event = event, .stream = stream}, {}, recorded); });
}

Status Gpu::wait_event(Id stream, Id event) {
  order_.wait(stream, event);
  return tell(StreamWaitEvent{.stream = stream, .event = event});
}

Status Gpu::elapsed(EventPair pair, float& milliseconds) {
  if (const auto known = times_.known(pair)) {
    milliseconds = *known;
    return 0;
  }
  return guarded([&]() -> Status {
    EventTimes::Wanted wanted;
    const Answered answer =
        lane_->ask(EventElapsed{.pair = pair}, {}, [&] { wanted = times_.want(pair); });
    if (answer.status != 0) return answer.status;
    const auto result = decode<Elapsed>(answer.body);
    times_.keep({wanted}, result);
    milliseconds = result.milliseconds.front();
    return 0;
  });
}

void Gpu::forget_event(Id event) {
  times_.forget(event);
  order_.forget_event(event);
}

Status Gpu::reset() {
  const Status status = ask(Reset{});
  modules.forget_all();
  order_.forget_all();
  ++generation_;
  return status;
}

}  // namespace gpucast::remote::client

#include "forwarded.h"

#include <algorithm>
#include <utility>

#include "direct.h"

namespace gpucast::replay {
namespace {

// A message that carries no data.
constexpr std::int64_t header_bytes = 128;

}  // namespace

Forwarded::Forwarded(const Program& program, const Path& path, Agenda& agenda, Devices& devices,
                     Hosts& hosts, const Times& times)
    : program_(program),
      path_(path),
      agenda_(agenda),
      devices_(devices),
      hosts_(hosts),
      times_(times),
      connections_(at(program.devices)),
      ready_(program.size()),
      data_at_server_(program.size()),
      taken_(program.size()),
      receiving_(program.streams.device.size()),
      data_until_(program.streams.device.size()),
      held_(program.size()),
      asked_(program.size()),
      done_(program.size()),
      over_(program.size()) {}

// A wait for an event goes to the server of the stream that recorded it.
std::int32_t Forwarded::device_of(std::int32_t call) const {
  const std::int32_t recording = program_.recording[at(call)];
  return program_.device[at(recording == none ? call : recording)];
}

Manner Forwarded::manner_of(std::int32_t call) const {
  const std::size_t c = at(call);
  return manner(path_.transport, program_.operation[c], program_.direction[c], program_.memory[c],
                program_.blocking[c] != 0, device_of(call) != program_.device[c]);
}

bool Forwarded::to_device(std::int32_t call) const {
  return program_.operation[at(call)] == Operation::copy &&
         program_.direction[at(call)] == Direction::h2d;
}

bool Forwarded::to_host(std::int32_t call) const {
  return program_.operation[at(call)] == Operation::copy &&
         program_.direction[at(call)] == Direction::d2h;
}

bool Forwarded::large(std::int32_t call) const {
  return program_.bytes[at(call)] > path_.most_inline && (to_device(call) || to_host(call));
}

// The share of a large copy's bytes that are its last piece.
double Forwarded::of_piece(std::int32_t call) const {
  const auto bytes = static_cast<std::size_t>(program_.bytes[at(call)]);
  const auto connections = static_cast<std::size_t>(path_.bulk_connections);
  const std::size_t piece = remote::piece_of(bytes, connections);
  return static_cast<double>((bytes - 1) % piece + 1) / static_cast<double>(bytes);
}

// The host does not wait until a large copy is sent.
bool Forwarded::goes_on(std::int32_t call) const {
  return program_.blocking[at(call)] == 0 && program_.memory[at(call)] == Memory::pinned;
}

// ---- the host ----

void Forwarded::call(std::int32_t call) {
  const std::size_t c = at(call);
  const Messages& messages = path_.messages;
  const Manner manner = manner_of(call);
  if (manner == Manner::here) return hosts_.returns(call, agenda_.now() + messages.cost[c]);
  Connection& connection = connection_of(call);
  if (held_up(call, connection)) return;
  const double free = send(call, connection);
  if (manner != Manner::send) return begin_reading(connection, free);
  if (to_host(call)) ++receiving_[at(program_.stream[c])];
  if (!large(call) || !to_device(call) || goes_on(call)) sent(call, free);
}

// The host is free of a call that is not answered.
void Forwarded::sent(std::int32_t call, double time) {
  const std::size_t c = at(call);
  if (to_device(call) && program_.blocking[c] != 0 && receiving_[at(program_.stream[c])] > 0) {
    waiting_for_data_.push_back(call);
    return begin_reading(connection_of(call), time);
  }
  hosts_.returns(call, time);
}

// A thread waits from then on.
void Forwarded::begin_reading(Connection& connection, double time) {
  ++connection.readers;
  connection.read_until = std::max(connection.read_until, time) + connection.to_read;
  connection.to_read = 0;
}

bool Forwarded::held_up(std::int32_t call, Connection& connection) {
  const std::int32_t recording = program_.recording[at(call)];
  if (recording != none && !hosts_.returned(recording)) {
    hosts_.wait_for(call, recording);
    return true;
  }
  if (held_[at(call)] != 0) {
    held_[at(call)] = 0;
    --connection.readers;
    if (connection.read_until > agenda_.now()) {
      agenda_.add(connection.read_until, What::again, call);
      return true;
    }
  }
  if (connection.unread > path_.socket) {
    // Who waits to write reads.
    begin_reading(connection, agenda_.now());
    held_[at(call)] = 1;
    connection.waiting_for_room.push_back(call);
    return true;
  }
  return false;
}

// When `bytes` that want to go from `begin` on have gone over the line that all share.
double Forwarded::over_line(double& line_free, double begin, std::int64_t bytes) const {
  if (path_.line <= 0) return begin;
  line_free = std::max(line_free, begin) + path_.line * static_cast<double>(bytes);
  return line_free;
}

// Likewise of large copies, through what those of both directions share.
double Forwarded::through_memory(double begin, std::int64_t bytes) {
  if (path_.bulk_line <= 0) return begin;
  memory_free_ = std::max(memory_free_, begin) + path_.bulk_line * static_cast<double>(bytes);
  return memory_free_;
}

// When a channel that was free from `channel_free` on begins with what is there at `time`.
double Forwarded::awake(double channel_free, double time) const {
  const double slept = time - channel_free;
  if (slept <= path_.bulk_nap) return std::max(channel_free, time);
  const double deep = (slept - path_.bulk_nap) / (path_.bulk_deep - path_.bulk_nap);
  return time + path_.bulk_wake * std::min(1.0, deep);
}

// When the host is free of it.
double Forwarded::send(std::int32_t call, Connection& connection) {
  const std::size_t c = at(call);
  const Messages& messages = path_.messages;
  const std::int64_t bytes = to_device(call) ? program_.bytes[c] : 0;
  const double now = agenda_.now();
  const double sent = now + messages.cost[c];
  double arrives = sent;
  if (large(call) && to_device(call)) {
    ready_[c] = sent;
    connection.uploads.push_back(call);
    if (connection.uploads.size() == 1) next_upload(connection);
    arrives = std::max(arrives, connection.up_free);
    connection.unread += header_bytes;
  } else {
    // A copy goes out while the host still writes.
    const double line = over_line(line_up_free_, now, bytes + header_bytes);
    arrives = std::max({arrives, connection.up_free, line}) + messages.up[c];
    connection.unread += bytes + header_bytes;
  }
  connection.up_free = arrives;
  connection.up_last = std::max(connection.up_last, arrives + messages.flight[c]);
  agenda_.add(connection.up_last, What::arrived, call);
  return sent;
}

void Forwarded::next_upload(Connection& connection) {
  const std::int32_t call = connection.uploads.front();
  agenda_.add(awake(connection.bulk_up_free, ready_[at(call)]), What::upload, call);
}

void Forwarded::upload(std::int32_t call) {
  const std::size_t c = at(call);
  const double begin = agenda_.now();
  const std::int64_t bytes = program_.bytes[c];
  const double end = std::max({begin + path_.messages.up[c], over_line(line_up_free_, begin, bytes),
                               through_memory(begin, bytes)});
  connection_of(call).bulk_up_free = end;
  data_at_server_[c] = end + path_.messages.flight[c];
  if (taken_[c] > 0) agenda_.add(std::max(taken_[c], data_at_server_[c]), What::served, call);
  agenda_.add(end, What::uploaded, call);
}

void Forwarded::uploaded(std::int32_t call) {
  Connection& connection = connection_of(call);
  connection.uploads.pop_front();
  if (!connection.uploads.empty()) next_upload(connection);
  if (manner_of(call) == Manner::send && !goes_on(call)) sent(call, agenda_.now());
}

// ---- the server ----

void Forwarded::handle(const Event& event) {
  switch (event.what) {
    case What::upload:
      return upload(event.about);
    case What::uploaded:
      return uploaded(event.about);
    case What::arrived:
      return arrived(event.about);
    case What::served:
      return served(event.about);
    case What::seen:
      return seen(event.about);
    case What::answered:
      return answered(event.about);
    case What::data:
      return data(event.about);
    default:
      return;
  }
}

void Forwarded::arrived(std::int32_t call) {
  Connection& connection = connection_of(call);
  connection.messages.push_back(call);
  if (!connection.busy) serve_next(connection);
}

void Forwarded::serve_next(Connection& connection) {
  const std::int32_t call = connection.messages.front();
  const std::size_t c = at(call);
  connection.messages.pop_front();
  connection.busy = true;
  const double now = agenda_.now();
  const double lead = path_.messages.lead[c];
  double begin = std::max(now - lead, connection.free);
  if (now - connection.last_seen > path_.spin && connection.waits == 0) begin += path_.wake_server;
  connection.last_seen = now;
  const double taken = std::max(now, begin + path_.messages.serve[c]);
  connection.free = taken;
  connection.unread -= header_bytes + (to_device(call) && !large(call) ? program_.bytes[c] : 0);
  for (const std::int32_t waiting : std::exchange(connection.waiting_for_room, {}))
    agenda_.add(std::max(now, begin), What::again, waiting);
  // A large copy has to be there whole; answers go out meanwhile.
  taken_[c] = taken;
  if (!large(call) || !to_device(call)) return agenda_.add(taken, What::served, call);
  if (data_at_server_[c] > 0) agenda_.add(std::max(taken, data_at_server_[c]), What::served, call);
}

void Forwarded::served(std::int32_t call) {
  const std::size_t c = at(call);
  Connection& connection = connection_of(call);
  if (program_.engine[c] != none && path_.queue > 0 &&
      devices_.queued(device_of(call)) >= path_.queue) {
    connection.blocked = call;
    return;
  }
  act(call, connection);
  if (connection.freeing == none) next_message(connection);
}

void Forwarded::next_message(Connection& connection) {
  connection.busy = false;
  connection.last_seen = agenda_.now();
  connection.free = std::max(connection.free, agenda_.now());
  if (!connection.messages.empty()) serve_next(connection);
}

void Forwarded::act(std::int32_t call, Connection& connection) {
  const std::size_t c = at(call);
  const Item item = Devices::work_of(call);
  const Manner manner = manner_of(call);
  switch (program_.operation[c]) {
    case Operation::record:
      mark(program_, devices_, call);
      devices_.release(item, agenda_.now());
      break;
    case Operation::wait_stream_event:
      if (manner == Manner::wait) break;
      mark(program_, devices_, call);
      devices_.release(item, agenda_.now());
      break;
    case Operation::free:
      devices_.hold(item);
      devices_.wait_for_device(item, program_.device[c]);
      connection.freeing = call;
      devices_.release(item, agenda_.now());
      return;
    default:
      if (program_.engine[c] != none) ask_for_work(call);
  }
  if (polls(call)) {
    if (asked_[c] == 0) {
      asked_[c] = agenda_.now();
      mark_set(program_, devices_, call);
      devices_.release(item, agenda_.now());
    }
    // Behind what is done by now.
    return agenda_.add(agenda_.now(), What::seen, call);
  }
  if (manner == Manner::reply) return answer(call);
  if (manner == Manner::wait || to_host(call)) {
    ++connection.waits;
    if (program_.engine[c] == none) {
      mark_set(program_, devices_, call);
      devices_.release(item, agenda_.now());
    }
  }
}

void Forwarded::ask_for_work(std::int32_t call) {
  const std::size_t c = at(call);
  const Item item = Devices::work_of(call);
  devices_.submit(item, program_.stream[c]);
  if (to_device(call) && large(call)) {
    // All but the last piece went to the GPU as it came.
    devices_.shorten(item, program_.seconds[c] * of_piece(call));
  }
  // Who made a blocking copy or memset takes it for done, and so does whatever any stream is given.
  const bool fences =
      program_.blocking[c] != 0 && !to_host(call) &&
      (program_.operation[c] == Operation::copy || program_.operation[c] == Operation::set);
  if (fences) devices_.fence(item, program_.device[c]);
  devices_.release(item, agenda_.now() + program_.latency[c]);
}

void Forwarded::finished(Item item) {
  const std::int32_t call = Devices::call_of(item);
  done_[at(call)] = agenda_.now();
  Connection& connection = connection_of(call);
  if (connection.blocked != none && devices_.queued(device_of(call)) < path_.queue)
    agenda_.add(agenda_.now(), What::served, std::exchange(connection.blocked, none));
  if (connection.freeing == call) {
    connection.freeing = none;
    if (manner_of(call) == Manner::reply) answer(call);
    for (const std::int32_t held : std::exchange(connection.held_answers, {}))
      answer(held);
    return next_message(connection);
  }
  if ((manner_of(call) != Manner::wait && !to_host(call)) || polls(call)) return;
  agenda_.add(agenda_.now() + path_.tail, What::seen, call);
}

// The GPU has come to what is waited for, or a wait that polls asks if it has.
void Forwarded::seen(std::int32_t call) {
  Connection& connection = connection_of(call);
  if (polls(call)) {
    over_[at(call)] = over(call) ? 1 : 0;
    return answer(call);
  }
  --connection.waits;
  if (connection.freeing != none) {
    connection.held_answers.push_back(call);
  } else {
    answer(call);
  }
}

// Whether the server knows that what a wait polls for is done. What was done before it was first
// asked for has been known since.
bool Forwarded::over(std::int32_t call) const {
  const std::size_t c = at(call);
  if (!devices_.done(Devices::work_of(call))) return false;
  const std::int32_t recording = program_.recording[c];
  if (recording != none) return agenda_.now() >= done_[at(recording)] + path_.tail;
  return done_[c] <= asked_[c] || agenda_.now() >= done_[c] + path_.tail;
}

// Between two messages.
void Forwarded::answer(std::int32_t call) {
  const std::size_t c = at(call);
  Connection& connection = connection_of(call);
  const double begin = std::max(agenda_.now(), connection.free);
  connection.free = begin + path_.messages.answer[c];
  connection.last_seen = connection.free;
  bring(call, manner_of(call) == Manner::send ? What::data : What::answered);
}

void Forwarded::bring(std::int32_t call, What what) {
  const std::size_t c = at(call);
  const Messages& messages = path_.messages;
  Connection& connection = connection_of(call);
  const std::int64_t bytes = to_host(call) ? program_.bytes[c] : 0;
  const double ready = connection.free;
  if (to_host(call) && large(call)) {
    // Pieces go out as the GPU brings them: the last a little after it has ended.
    const double first = awake(connection.bulk_down_free, devices_.work_begun(call));
    const double through =
        std::max(first + messages.down[c], ready + messages.down[c] * of_piece(call));
    connection.bulk_down_free =
        std::max({through, over_line(line_down_free_, first, bytes), through_memory(first, bytes)});
    const double there = connection.bulk_down_free + messages.flight[c];
    double& until = data_until_[at(program_.stream[c])];
    until = std::max(until, there);
    agenda_.add(there, what, call);
    return;
  }
  const double line = over_line(line_down_free_, ready, bytes + header_bytes);
  connection.down_free =
      std::max({ready, connection.down_free, path_.line > 0 ? line : 0.0}) + messages.down[c];
  connection.down_last = std::max(connection.down_last, connection.down_free + messages.flight[c]);
  agenda_.add(connection.down_last, what, call);
}

// ---- the host again ----

// What the stream of a call has brought and a wait for it includes.
double Forwarded::data_until(std::int32_t call) const {
  const std::size_t c = at(call);
  double result = 0;
  if (program_.stream[c] != none) result = data_until_[at(program_.stream[c])];
  if (program_.operation[c] != Operation::sync_device) return result;
  for (std::size_t s = 0; s < data_until_.size(); ++s) {
    if (program_.streams.device[s] == program_.device[c]) result = std::max(result, data_until_[s]);
  }
  return result;
}

void Forwarded::answered(std::int32_t call) {
  const std::size_t c = at(call);
  const Messages& messages = path_.messages;
  Connection& connection = connection_of(call);
  const double until = manner_of(call) == Manner::wait ? data_until(call) : 0.0;
  double there = agenda_.now();
  const bool asleep = std::max(there, until) - times_.begin[c] > path_.spin;
  const double wake = asleep ? path_.wake_client : 0.0;
  there += wake;
  --connection.readers;
  connection.read_until =
      std::max(connection.read_until, there - messages.lead[c]) + messages.after[c];
  const double returns = std::max(connection.read_until, until + wake + messages.after[c]);
  if (polls(call) && over_[c] == 0) return agenda_.add(returns, What::again, call);
  hosts_.returns(call, returns);
}

void Forwarded::data(std::int32_t call) {
  const std::size_t c = at(call);
  const Messages& messages = path_.messages;
  const std::int32_t stream = program_.stream[c];
  Connection& connection = connection_of(call);
  if (!large(call)) {
    if (connection.readers == 0) {
      connection.to_read += messages.after[c];
    } else {
      connection.read_until =
          std::max(connection.read_until, agenda_.now() - messages.lead[c]) + messages.after[c];
    }
  }
  if (--receiving_[at(stream)] > 0) return;
  std::erase_if(waiting_for_data_, [&](std::int32_t waiting) {
    if (program_.stream[at(waiting)] != stream) return false;
    --connection.readers;
    hosts_.returns(waiting, std::max(agenda_.now(), connection.read_until));
    return true;
  });
}

}  // namespace gpucast::replay

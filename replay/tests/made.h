// Programs of calls written by hand, in microseconds.
#pragma once

#include "gpucast/replay/path.h"
#include "gpucast/replay/program.h"

namespace gpucast::replay::made {

inline constexpr double us = 1e-6;
inline constexpr double tolerance = 1e-12;  // s

// What one call is, with what tests mostly want of the rest.
struct Call {
  Operation operation = Operation::other;
  std::int32_t thread = 0;
  Direction direction = Direction::none;
  Memory memory = Memory::none;
  bool blocking = false;
  std::int32_t device = 0;
  std::int32_t stream = none;
  std::int64_t bytes = 0;
  std::int32_t recording = none;
  double gap = 0;
  double cost = 0;
  double tail = 0;
  double latency = 0;
  double delay = 0;
  std::int32_t engine = none;
  double seconds = 0;  // all in us
  double share = 1;
};

// Two devices: each with a legacy default stream, two blocking and two non-blocking ones, and three
// engines.
inline constexpr std::int32_t streams_each = 5;
inline constexpr std::int32_t legacy = 0;
inline constexpr std::int32_t first = 1, second = 2;
inline constexpr std::int32_t apart = 3, other = 4;
inline constexpr std::int32_t compute = 0, up = 1, down = 2;
inline constexpr std::int32_t engines_each = 3;

inline Program program(const std::vector<Call>& calls, std::int32_t threads = 1) {
  Program result;
  result.threads = threads;
  result.devices = 2;
  for (std::int32_t device = 0; device < 2; ++device) {
    for (const StreamKind kind : {StreamKind::legacy, StreamKind::blocking, StreamKind::blocking,
                                  StreamKind::non_blocking, StreamKind::non_blocking}) {
      result.streams.device.push_back(device);
      result.streams.kind.push_back(kind);
    }
    for (const EngineKind kind : {EngineKind::shared, EngineKind::queue, EngineKind::queue})
      result.engines.push_back(kind);
  }
  for (const Call& call : calls) {
    result.thread.push_back(call.thread);
    result.operation.push_back(call.operation);
    result.direction.push_back(call.direction);
    result.memory.push_back(call.memory);
    result.blocking.push_back(call.blocking ? 1 : 0);
    result.device.push_back(call.device);
    result.stream.push_back(call.stream);
    result.bytes.push_back(call.bytes);
    result.recording.push_back(call.recording);
    result.gap.push_back(call.gap * us);
    result.cost.push_back(call.cost * us);
    result.tail.push_back(call.tail * us);
    result.latency.push_back(call.latency * us);
    result.delay.push_back(call.delay * us);
    result.engine.push_back(call.engine);
    result.seconds.push_back(call.seconds * us);
    result.share.push_back(call.share);
  }
  return result;
}

inline Call launch(std::int32_t stream, double seconds, double share = 1) {
  return {.operation = Operation::launch,
          .stream = stream,
          .cost = 2,
          .latency = 3,
          .engine = compute,
          .seconds = seconds,
          .share = share};
}
inline Call copy(std::int32_t stream, Direction direction, double seconds, bool blocking = false,
                 Memory memory = Memory::pinned) {
  return {.operation = Operation::copy,
          .direction = direction,
          .memory = memory,
          .blocking = blocking,
          .stream = stream,
          .bytes = 4096,
          .cost = 2,
          .tail = 1,
          .latency = 3,
          .engine = direction == Direction::h2d ? up : down,
          .seconds = seconds};
}
inline Call sync(std::int32_t stream) {
  return {.operation = Operation::sync_stream, .stream = stream, .cost = 1, .tail = 2};
}

// Every message: 4 us of the host, 1 us on the wire, 5 us of flight, 2 us of the server; answers:
// 1 us of the server, 1 us on the wire, 5 us of flight, 0.5 us of the host.
inline Path forwarding(const Program& program, Transport transport = Transport::asynchronous) {
  const auto column = [&](double value) { return std::vector<double>(program.size(), value * us); };
  Path path;
  path.transport = transport;
  path.messages = {.cost = column(4),
                   .up = column(1),
                   .flight = column(5),
                   .serve = column(2),
                   .answer = column(1),
                   .down = column(1),
                   .after = column(0.5),
                   .polls = column(0),
                   .lead = column(0)};
  return path;
}

}  // namespace gpucast::replay::made

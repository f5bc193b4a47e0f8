// A program of calls: what some consecutive steps of a traced program asked of its GPUs, made again
// by skeleton --trace. Files are JSON Lines, gpucast.calls/1 (python/gpucast/paths/replay/calls.py writes
// them): a line that says what there is of threads, devices, streams and events, then a line a
// call.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace gpucast::microbench {

// `other`: what asks nothing of a device.
enum class Operation : std::uint8_t {
  launch,
  copy,
  set,
  record,
  wait_stream_event,
  sync_stream,
  sync_event,
  sync_device,
  alloc,
  release,
  query,
  other
};

// The direction of a copy: up, down, within a device, to the next device, within the host.
enum class Direction : std::uint8_t { none, h2d, d2h, local, peer, within_host };

// How a stream was made, as trace files say it.
enum class StreamKind : std::uint8_t { blocking = 1, non_blocking, legacy, per_thread };

struct TracedStream {
  int device = 0;
  StreamKind kind = StreamKind::non_blocking;
};

struct TracedCall {
  static constexpr int none = -1;  // no stream, no event

  Operation operation = Operation::other;
  Direction direction = Direction::none;
  bool pinned = false;    // the host's memory
  bool blocking = false;  // returned when its work was done
  int thread = 0;
  int device = 0;
  int stream = none;
  int event = none;  // recorded, or waited for
  int step = 0;
  std::int64_t bytes = 0;
  double gap = 0;   // s since the thread's call before returned
  double cost = 0;  // s of the call itself where it was recorded
  double busy = 0;  // s that its work keeps the device busy
};

struct TracedProgram {
  int steps = 0;
  int threads = 0;
  int devices = 0;
  int events = 0;
  std::vector<TracedStream> streams;
  std::vector<TracedCall> calls;  // in the order in which they were begun
};

// `name`: of the file, for messages. Throws support::InputError, one line with file, line and
// field, for what is wrong, and for what cannot be made again: CUDA graphs, fewer than two steps.
TracedProgram read_calls(std::istream& file, const std::string& name);

}  // namespace gpucast::microbench

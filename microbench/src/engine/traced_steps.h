// Steps of a traced program, repeated by skeleton --trace: the same calls in the same order by as
// many threads, with the host's pauses between them, and kernels that keep the device busy for the
// same time. This shows the time of a step on this path without the program.
//
// Files of calls (gpucast.calls/1, by python/gpucast/paths/traced/call_file.py) are JSON Lines: one
// line with the numbers of threads, devices, streams and events, then one per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "gpucast/devices/clock.h"
#include "gpucast/support/interface.h"

namespace gpucast::microbench {

// `other`: a call that uses no device.
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

// How a stream was created, as in trace files.
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
  double gap = 0;   // s since the previous call of the thread returned
  double cost = 0;  // s of the recorded call itself
  double busy = 0;  // s that its work keeps the device busy
};

struct TracedProgram {
  int steps = 0;
  int threads = 0;
  int devices = 0;
  int events = 0;
  std::vector<TracedStream> streams;
  std::vector<TracedCall> calls;  // in the order of their beginnings
};

// `name`: of the file, for messages. Throws support::InputError, one line with file, line and
// field, for invalid content, and for steps that cannot be repeated: CUDA graphs, fewer than two
// steps.
TracedProgram read_calls(std::istream& file, const std::string& name);

class TracedSteps : public support::Interface {
 public:
  explicit TracedSteps(TracedProgram program);

  // Makes all steps in a row. Returns the seconds of each except the first, which finds empty
  // streams: from the end of the call before a step to the end of its last, in the thread that
  // begins it. Throws what a call throws.
  std::vector<double> make();

 protected:
  const TracedProgram& program() const { return program_; }
  // `number`: of the call in the program.
  virtual void make_call(const TracedCall& call, std::size_t number) = 0;
  // Waits until all devices are idle, even after errors.
  virtual void settle() = 0;

 private:
  using Moment = devices::Clock::time_point;
  // The calls of a thread. `moments`: the beginning of each step.
  void make_calls_of(int thread, Moment begin, std::vector<Moment>* moments);

  TracedProgram program_;
  int driver_;                                   // the thread that begins the steps
  std::vector<std::vector<std::size_t>> calls_;  // of each thread
};

// Seconds that an empty kernel keeps a GPU busy (H200), which a spinning kernel takes in addition.
inline constexpr double empty_kernel_seconds = 1e-6;

}  // namespace gpucast::microbench

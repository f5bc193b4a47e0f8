// A program of calls: what a program asked of its GPUs, in the order of each of its host threads,
// and what the host did between. Columns of one length, an entry a call; times are seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpucast::replay {

enum class Operation : std::uint8_t {
  launch,             // a kernel
  copy,               // see Direction
  set,                // memset
  record,             // an event, in a stream
  wait_stream_event,  // a stream waits for an event
  sync_stream,        // the host waits for a stream,
  sync_event,         // ... for an event,
  sync_device,        // ... for all streams of a device
  alloc,              // memory of the device: asks it
  free,               // memory of the device: tells it
  query,              // asks a device something that it answers at once
  graph_launch,       // a graph, which is one piece of work
  other,              // stays on the host
};
inline constexpr std::size_t operations = 13;

enum class Direction : std::uint8_t { none, h2d, d2h, local, peer, host };

enum class Memory : std::uint8_t { none, pageable, pinned };  // of the host

// How a stream was made, in CUPTI's numbers. The default stream of a thread is like a blocking one.
enum class StreamKind : std::uint8_t { blocking = 1, non_blocking = 2, legacy = 3, per_thread = 4 };

struct Streams {
  std::vector<std::int32_t> device;
  std::vector<StreamKind> kind;
};

// What works go through. A queue does one after another, in the order in which they become ready (a
// copy engine). A shared one does all at once: each asks for a share of it, and where these come to
// more than 1, all are slowed by as much (the multiprocessors).
enum class EngineKind : std::uint8_t { queue, shared };

inline constexpr std::int32_t none = -1;

struct Program {
  std::int32_t threads = 0;
  std::int32_t devices = 0;
  Streams streams;
  std::vector<EngineKind> engines;

  // What is asked. Calls of one thread stand in their order.
  std::vector<std::int32_t> thread;
  std::vector<Operation> operation;
  std::vector<Direction> direction;
  std::vector<Memory> memory;
  // The host returns only when the work is done, or its data staged.
  std::vector<std::uint8_t> blocking;
  std::vector<std::int32_t> device;  // that the call is about
  std::vector<std::int32_t> stream;  // in `streams`; none where the call names none
  std::vector<std::int64_t> bytes;   // of copies
  // A wait for an event: the call that recorded it; none where that is done long since.
  std::vector<std::int32_t> recording;

  // What it takes on the host:
  std::vector<double> gap;   // since the thread's previous call returned
  std::vector<double> cost;  // of the call itself, without what it waits for
  std::vector<double> tail;  // from the end of what is waited for until the call returns
  // The GPU:
  std::vector<double> latency;       // from when it is asked for until work may begin
  std::vector<double> delay;         // from the end of what the work waited for until it begins
  std::vector<std::int32_t> engine;  // none: the call asks for no work
  std::vector<double> seconds;       // of the work
  std::vector<double> share;         // of a shared engine

  std::size_t size() const { return thread.size(); }
};

}  // namespace gpucast::replay

// Generated from schema/vocabulary.toml by scripts/generate_vocabulary.py.
// clang-format off
#pragma once

#include "gpucast/schema/words.h"

namespace gpucast::schema {

// The content of a record.
enum class RecordKind { machine, transfer, launch, step, overlap, skeleton, host_memory, note };

// How GPUs are reached; records may name a path of the user's own instead.
enum class Path { host, native, remote, remote_sync, remote_shm };

// The way in which a step of the mini-app moves data.
enum class Schedule { star_serial, star_async, allgather, mpi };

// Kind of host memory. portable: pinned for all GPUs, not only for one. unknown: not stated by
// others who measured it.
enum class Memory {
  pageable,
  pinned,
  portable,
  write_combined,
  mapped,
  mapped_write_combined,
  unknown,
};

// The means of a copy: a copy engine, or a kernel.
enum class Engine { copy, kernel };

// The ways that data take between host, GPUs and nodes; each may have a transfer curve. peer: from
// GPU to GPU directly; staged: through host memory; local: within a GPU; net: between nodes.
enum class Route { h2d, d2h, peer, staged, local, net };

// How a transfer was timed. call: time for which the caller of a blocking copy waits; gated: the
// device's own time of one of many copies queued behind a gate.
enum class TransferMethod { call, gated };

// How launches were timed. submit: the host's time for one; sync: until it has run; gated: one of a
// row, by the device's clock; graph: the nodes of a graph; row: the host's time for a row; drain:
// until the row has run. Without launches: idle: a wait for a stream without work; rest: the same
// after 5 ms without a call, when threads that poll for messages sleep.
enum class LaunchMethod { submit, sync, gated, graph, row, drain, idle, rest };

// Operations of one device at the same time: copies up, copies down, a kernel.
enum class OverlapPart { h2d, d2h, kernel };

// The quantity that an observation of a fit times; the core's arrays hold the word's number.
enum class ObservationKind { step, cpu, transfer, launch, kernel, skeleton };

template <>
inline constexpr auto words<RecordKind> = in_order<RecordKind>(
    "machine", "transfer", "launch", "step", "overlap", "skeleton", "host_memory", "note");
template <>
inline constexpr auto words<Path> = in_order<Path>(
    "host", "native", "remote", "remote-sync", "remote-shm");
template <>
inline constexpr auto words<Schedule> = in_order<Schedule>(
    "star-serial", "star-async", "allgather", "mpi");
template <>
inline constexpr auto words<Memory> = in_order<Memory>(
    "pageable", "pinned", "portable", "write-combined", "mapped", "mapped-write-combined",
    "unknown");
template <>
inline constexpr auto words<Engine> = in_order<Engine>("copy", "kernel");
template <>
inline constexpr auto words<Route> = in_order<Route>(
    "h2d", "d2h", "peer", "staged", "local", "net");
template <>
inline constexpr auto words<TransferMethod> = in_order<TransferMethod>("call", "gated");
template <>
inline constexpr auto words<LaunchMethod> = in_order<LaunchMethod>(
    "submit", "sync", "gated", "graph", "row", "drain", "idle", "rest");
template <>
inline constexpr auto words<OverlapPart> = in_order<OverlapPart>("h2d", "d2h", "kernel");
template <>
inline constexpr auto words<ObservationKind> = in_order<ObservationKind>(
    "step", "cpu", "transfer", "launch", "kernel", "skeleton");

}  // namespace gpucast::schema

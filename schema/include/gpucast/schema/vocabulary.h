// Generated from schema/vocabulary.toml by scripts/generate_vocabulary.py.
#pragma once

#include "gpucast/schema/words.h"

namespace gpucast::schema {

// What a record holds.
enum class RecordKind { machine, transfer, launch, step, overlap, skeleton, host_memory, note };

// How GPUs are reached; records may name a path of the user's own instead.
enum class Path { host, native, remote, remote_sync };

// How a step of the mini-app moves data.
enum class Schedule { star_serial, star_async, allgather, mpi };

// Kind of host memory. portable: pinned for all GPUs, not for one. unknown: measured by others, who
// do not say.
enum class Memory {
  pageable,
  pinned,
  portable,
  write_combined,
  mapped,
  mapped_write_combined,
  unknown,
};

// What copies: a copy engine, or a kernel.
enum class Engine { copy, kernel };

// The ways that data take between host, GPUs and nodes; each may have a transfer curve. peer: from
// GPU to GPU directly; staged: through host memory; local: within a GPU; net: between nodes.
enum class Route { h2d, d2h, peer, staged, local, net };

// How a transfer was timed. call: what the caller of a blocking copy waits; gated: the device's own
// time of one of many copies queued behind a gate.
enum class TransferMethod { call, gated };

// How launches were timed.
enum class LaunchMethod { submit, sync, gated, graph };

// What one device does at the same time: copies up, copies down, a kernel.
enum class OverlapPart { h2d, d2h, kernel };

// What an observation of a fit times; the core's arrays hold the word's number.
enum class ObservationKind { step, cpu, transfer, launch, kernel, skeleton };

template <>
inline constexpr Words<RecordKind, 8> words<RecordKind>{{
    {RecordKind::machine, "machine"},
    {RecordKind::transfer, "transfer"},
    {RecordKind::launch, "launch"},
    {RecordKind::step, "step"},
    {RecordKind::overlap, "overlap"},
    {RecordKind::skeleton, "skeleton"},
    {RecordKind::host_memory, "host_memory"},
    {RecordKind::note, "note"},
}};
template <>
inline constexpr Words<Path, 4> words<Path>{{
    {Path::host, "host"},
    {Path::native, "native"},
    {Path::remote, "remote"},
    {Path::remote_sync, "remote-sync"},
}};
template <>
inline constexpr Words<Schedule, 4> words<Schedule>{{
    {Schedule::star_serial, "star-serial"},
    {Schedule::star_async, "star-async"},
    {Schedule::allgather, "allgather"},
    {Schedule::mpi, "mpi"},
}};
template <>
inline constexpr Words<Memory, 7> words<Memory>{{
    {Memory::pageable, "pageable"},
    {Memory::pinned, "pinned"},
    {Memory::portable, "portable"},
    {Memory::write_combined, "write-combined"},
    {Memory::mapped, "mapped"},
    {Memory::mapped_write_combined, "mapped-write-combined"},
    {Memory::unknown, "unknown"},
}};
template <>
inline constexpr Words<Engine, 2> words<Engine>{{
    {Engine::copy, "copy"},
    {Engine::kernel, "kernel"},
}};
template <>
inline constexpr Words<Route, 6> words<Route>{{
    {Route::h2d, "h2d"},
    {Route::d2h, "d2h"},
    {Route::peer, "peer"},
    {Route::staged, "staged"},
    {Route::local, "local"},
    {Route::net, "net"},
}};
template <>
inline constexpr Words<TransferMethod, 2> words<TransferMethod>{{
    {TransferMethod::call, "call"},
    {TransferMethod::gated, "gated"},
}};
template <>
inline constexpr Words<LaunchMethod, 4> words<LaunchMethod>{{
    {LaunchMethod::submit, "submit"},
    {LaunchMethod::sync, "sync"},
    {LaunchMethod::gated, "gated"},
    {LaunchMethod::graph, "graph"},
}};
template <>
inline constexpr Words<OverlapPart, 3> words<OverlapPart>{{
    {OverlapPart::h2d, "h2d"},
    {OverlapPart::d2h, "d2h"},
    {OverlapPart::kernel, "kernel"},
}};
template <>
inline constexpr Words<ObservationKind, 6> words<ObservationKind>{{
    {ObservationKind::step, "step"},
    {ObservationKind::cpu, "cpu"},
    {ObservationKind::transfer, "transfer"},
    {ObservationKind::launch, "launch"},
    {ObservationKind::kernel, "kernel"},
    {ObservationKind::skeleton, "skeleton"},
}};

}  // namespace gpucast::schema

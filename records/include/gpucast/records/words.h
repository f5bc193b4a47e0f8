// The words that a record's fields are limited to, as types.
#pragma once

#include "gpucast/support/words.h"

namespace gpucast::records {

// How a step moves data.
enum class Schedule { star_serial, star_async, allgather, mpi };

// Kind of host memory. `portable`: pinned for all GPUs, not for one. `unknown` is for data of
// others.
enum class Memory {
  pageable,
  pinned,
  portable,
  write_combined,
  mapped,
  mapped_write_combined,
  unknown
};

// What copies: a copy engine, or a kernel.
enum class Engine { copy, kernel };

enum class Route { h2d, d2h, peer, staged, local };

// Of a transfer: what the caller of a blocking copy waits, or the device's own time of one of many
// copies queued behind a gate.
enum class TransferMethod { call, gated };

enum class LaunchMethod { submit, sync, gated, graph };

enum class OverlapPart { h2d, d2h, kernel };

}  // namespace gpucast::records

namespace gpucast::support {

template <>
inline constexpr Words<records::Schedule, 4> words<records::Schedule>{
    {{records::Schedule::star_serial, "star-serial"},
     {records::Schedule::star_async, "star-async"},
     {records::Schedule::allgather, "allgather"},
     {records::Schedule::mpi, "mpi"}}};
template <>
inline constexpr Words<records::Memory, 7> words<records::Memory>{
    {{records::Memory::pageable, "pageable"},
     {records::Memory::pinned, "pinned"},
     {records::Memory::portable, "portable"},
     {records::Memory::write_combined, "write-combined"},
     {records::Memory::mapped, "mapped"},
     {records::Memory::mapped_write_combined, "mapped-write-combined"},
     {records::Memory::unknown, "unknown"}}};
template <>
inline constexpr Words<records::Engine, 2> words<records::Engine>{
    {{records::Engine::copy, "copy"}, {records::Engine::kernel, "kernel"}}};
template <>
inline constexpr Words<records::Route, 5> words<records::Route>{{{records::Route::h2d, "h2d"},
                                                                 {records::Route::d2h, "d2h"},
                                                                 {records::Route::peer, "peer"},
                                                                 {records::Route::staged, "staged"},
                                                                 {records::Route::local, "local"}}};
template <>
inline constexpr Words<records::TransferMethod, 2> words<records::TransferMethod>{
    {{records::TransferMethod::call, "call"}, {records::TransferMethod::gated, "gated"}}};
template <>
inline constexpr Words<records::OverlapPart, 3> words<records::OverlapPart>{
    {{records::OverlapPart::h2d, "h2d"},
     {records::OverlapPart::d2h, "d2h"},
     {records::OverlapPart::kernel, "kernel"}}};
template <>
inline constexpr Words<records::LaunchMethod, 4> words<records::LaunchMethod>{
    {{records::LaunchMethod::submit, "submit"},
     {records::LaunchMethod::sync, "sync"},
     {records::LaunchMethod::gated, "gated"},
     {records::LaunchMethod::graph, "graph"}}};

}  // namespace gpucast::support

// The words that a record's fields are limited to, as types, and as options of a command.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "gpucast/records/errors.h"

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

template <class Word, std::size_t count>
using Words = std::array<std::pair<Word, std::string_view>, count>;

// All words of a type, in the order they are listed to users.
template <class Word>
constexpr auto words = nullptr;

template <>
inline constexpr Words<Schedule, 4> words<Schedule>{{{Schedule::star_serial, "star-serial"},
                                                     {Schedule::star_async, "star-async"},
                                                     {Schedule::allgather, "allgather"},
                                                     {Schedule::mpi, "mpi"}}};
template <>
inline constexpr Words<Memory, 7> words<Memory>{
    {{Memory::pageable, "pageable"},
     {Memory::pinned, "pinned"},
     {Memory::portable, "portable"},
     {Memory::write_combined, "write-combined"},
     {Memory::mapped, "mapped"},
     {Memory::mapped_write_combined, "mapped-write-combined"},
     {Memory::unknown, "unknown"}}};
template <>
inline constexpr Words<Engine, 2> words<Engine>{
    {{Engine::copy, "copy"}, {Engine::kernel, "kernel"}}};
template <>
inline constexpr Words<Route, 5> words<Route>{{{Route::h2d, "h2d"},
                                               {Route::d2h, "d2h"},
                                               {Route::peer, "peer"},
                                               {Route::staged, "staged"},
                                               {Route::local, "local"}}};
template <>
inline constexpr Words<TransferMethod, 2> words<TransferMethod>{
    {{TransferMethod::call, "call"}, {TransferMethod::gated, "gated"}}};
template <>
inline constexpr Words<OverlapPart, 3> words<OverlapPart>{
    {{OverlapPart::h2d, "h2d"}, {OverlapPart::d2h, "d2h"}, {OverlapPart::kernel, "kernel"}}};
template <>
inline constexpr Words<LaunchMethod, 4> words<LaunchMethod>{{{LaunchMethod::submit, "submit"},
                                                             {LaunchMethod::sync, "sync"},
                                                             {LaunchMethod::gated, "gated"},
                                                             {LaunchMethod::graph, "graph"}}};

// The word as it stands in files.
template <class Word>
std::string name(Word word) {
  for (const auto& [each, text] : words<Word>) {
    if (each == word) {
      return std::string(text);
    }
  }
  throw std::invalid_argument("no such word");
}

// `--memory: "pined" is none of pageable, pinned, ...`
[[noreturn]] void refuse_word(std::string_view option, std::string_view text,
                              std::string_view choices);

// The word that an option's text names. Throws InputError, which lists the choices.
template <class Word>
Word parse_word(std::string_view option, std::string_view text) {
  std::string choices;
  for (const auto& [each, known] : words<Word>) {
    if (known == text) {
      return each;
    }
    choices += (choices.empty() ? "" : ", ");
    choices += known;
  }
  refuse_word(option, text, choices);
}

}  // namespace gpucast::records

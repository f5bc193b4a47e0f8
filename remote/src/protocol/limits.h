// Bounds of the protocol, and defaults of both sides.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpucast::remote {

inline constexpr std::uint32_t protocol_version = 4;

// Copies up to this size travel within their message, larger ones in pieces over the bulk
// connections. The control connection is polled on both sides while calls follow one another; a
// bulk connection's threads sleep between copies, and waking them takes longer than they save where
// a copy is not large.
inline constexpr std::size_t most_inline = std::size_t{1} << 20;
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;

// Bytes of the pieces (the last may be shorter) of a copy over so many bulk connections: each has a
// share of copies that are too short for several whole pieces, as a piece is passed on once all of
// it is there.
constexpr std::size_t piece_of(std::size_t bytes, std::size_t connections) {
  constexpr std::size_t page = 4096;
  const std::size_t share = (bytes / connections + page) / page * page;
  return std::min(share, piece_bytes);
}

// How long either side polls for the next message before it sleeps, by default: longer than the
// gaps between the calls of a step, so that a sleeping thread is woken once a pause of the program
// and not once a step.
inline constexpr std::chrono::microseconds usual_spin(2000);

inline constexpr std::size_t most_frame = most_inline + 4096;     // of a message's payload
inline constexpr std::size_t most_module = std::size_t{1} << 30;  // of one fat binary
inline constexpr std::size_t most_module_piece = std::size_t{512} << 10;
inline constexpr std::size_t most_names = 128;  // in one message
inline constexpr std::size_t most_parameters = 4096;
inline constexpr std::size_t most_argument_bytes = 32768;
inline constexpr std::size_t most_pairs = 32;
inline constexpr std::size_t most_attributes = 512;
inline constexpr std::size_t most_text_bytes = 4096;
inline constexpr std::uint16_t most_bulk_connections = 16;

}  // namespace gpucast::remote

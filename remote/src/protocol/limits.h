// Bounds of the protocol, and defaults of both sides.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpucast::remote {

inline constexpr std::uint32_t protocol_version = 5;

// Copies within their message, at most.
inline constexpr std::size_t most_inline = std::size_t{1} << 20;
// A client asks for those above this size in pieces over the bulk connections, unless it is told
// otherwise. Where the microseconds of a copy go, on loopback of a server's processor (seen or
// published, for orientation):
//
//   one core writes, or reads, a socket          150 to 200 us a MiB; both ends work at once
//   a copy within memory on its way              60 to 100 us a MiB
//   a thread that sleeps wakes                   5 to 50 us; a look at what is there 1 us
//   the GPU's copy engine                        20 us a MiB, and 10 us for the first byte
//   a call of the driver that queues a copy      5 us
//
// Within its message, 1 MiB took one core's time at each end, and 3 copies in memory: 186 us up,
// 460 down where four sockets carried it in 95. In pieces it is carried by all connections at once,
// goes from the program's memory to the ring that the GPU reads with nothing between, and the GPU
// copies a piece while the next is on its way. But their threads sleep between copies: below this
// size they are not awake before one core that is has done it all. Nor are they where there are no
// cores for them, as on hosts with fewer than this: copies of up to most_inline then stay in one
// piece.
inline constexpr std::size_t inline_beside_channels = std::size_t{128} << 10;
inline constexpr unsigned cores_for_channels = 8;
constexpr std::size_t usual_inline(unsigned cores) {
  return cores >= cores_for_channels ? inline_beside_channels : most_inline;
}

// Of a piece: a ring of piece_ring_bytes takes many.
inline constexpr std::size_t least_piece = std::size_t{64} << 10;
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;
inline constexpr std::size_t piece_ring_bytes = 8 * piece_bytes;  // of a connection, each way

// Bytes of the pieces (the last may be shorter) of a copy over so many bulk connections. Two for
// each where they are not too short for that: whoever is awake first takes more, and the GPU has
// the first while the second is on its way.
constexpr std::size_t piece_of(std::size_t bytes, std::size_t connections) {
  constexpr std::size_t page = 4096;
  // However much a client asks for: what is behind this overflows nothing.
  if (bytes / (2 * connections) >= piece_bytes) return piece_bytes;
  const std::size_t share = (bytes / (2 * connections) + page - 1) / page * page;
  return std::clamp(share, least_piece, piece_bytes);
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
inline constexpr std::size_t most_argument_bytes = 32764;  // as CUDA allows
inline constexpr std::size_t most_pairs = 32;
inline constexpr std::size_t most_graph_nodes = std::size_t{1} << 16;
inline constexpr std::size_t most_graph_pieces = std::size_t{1} << 16;  // of a launch
inline constexpr std::size_t most_attributes = 512;
inline constexpr std::size_t most_text_bytes = 4096;
inline constexpr std::uint16_t most_bulk_connections = 16;

}  // namespace gpucast::remote

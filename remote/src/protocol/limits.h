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
// Within its message, 1 MiB took one core's time at each end, and 3 copies in memory: 300 to 340 us
// on 16 cores beside one H100 where four sockets carry it in 80. In pieces, 120 to 140: it is
// carried by several connections at once, goes from the program's memory to the ring that the GPU
// reads with nothing between, and the GPU copies what has come while the rest is on its way. Below
// this size one core has done it all before others have begun. So it has where there are no cores
// for their threads, as on hosts with fewer than this: copies of up to most_inline then stay in
// one piece.
inline constexpr std::size_t inline_beside_channels = std::size_t{48} << 10;
inline constexpr unsigned cores_for_channels = 8;
constexpr std::size_t usual_inline(unsigned cores) {
  return cores >= cores_for_channels ? inline_beside_channels : most_inline;
}

// Bulk connections that a client opens. Each is a core's work at either end, and twice that under
// TLS; eight carry copies of 4 MiB and more half as fast again as four do.
constexpr int usual_bulk_connections(unsigned cores) {
  constexpr unsigned cores_for_eight = 16;
  return cores >= cores_for_eight ? 8 : 4;
}

// Of a piece: a ring of piece_ring_bytes takes many.
inline constexpr std::size_t least_piece = std::size_t{64} << 10;
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;
inline constexpr std::size_t piece_ring_bytes = 8 * piece_bytes;  // of a connection, each way
// Pieces in a ring: the driver takes some thousand calls ahead of the GPU, and then none.
inline constexpr std::size_t most_in_ring = 32;

// Bytes of the pieces (the last may be shorter) of a copy over so many bulk connections. Four carry
// copies of up to 1 MiB, and all of them longer ones: the threads of more have less to do each, and
// wait for one another. The GPU is told of what has come of a piece before the rest has.
constexpr std::size_t piece_of(std::size_t bytes, std::size_t connections) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t few = 4;
  constexpr std::size_t worth_another = piece_bytes / 4;
  const std::size_t share = std::max(bytes / connections, std::min(bytes / few, worth_another));
  // However much a client asks for: what is behind this overflows nothing.
  if (share >= piece_bytes) return piece_bytes;
  return std::clamp((share + page - 1) / page * page, least_piece, piece_bytes);
}

// So long the threads of bulk connections look for the next copy once they have done one: programs
// copy in each step, and to wake 8 or 16 threads takes longer than copies of up to 1 MiB. Where
// there are no cores for that, so long as the next piece of the same copy may take.
constexpr std::chrono::microseconds between_copies(unsigned cores) {
  return std::chrono::microseconds(cores >= cores_for_channels ? 200 : 50);
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

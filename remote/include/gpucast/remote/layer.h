// What the layer does with a program's calls that forecasts have to know, too: they take it from
// here (scripts/generate_remote_layer.py). The protocol's other bounds are in protocol/limits.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace gpucast::remote {

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
inline constexpr unsigned cores_for_eight = 16;
constexpr int usual_bulk_connections(unsigned cores) { return cores >= cores_for_eight ? 8 : 4; }

// The largest piece of a copy over bulk connections, and the least that longer copies are cut into.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;
inline constexpr std::size_t least_piece = std::size_t{64} << 10;

// Bytes of the pieces (the last may be shorter) of a copy over these bulk connections. Four carry
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

// How long threads of bulk connections look for the next copy once they have done one: programs
// copy in each step, and to wake 8 or 16 threads takes longer than copies of up to 1 MiB. Where
// there are no cores for that, as long as the next piece of the same copy may take.
constexpr std::chrono::microseconds between_copies(unsigned cores) {
  return std::chrono::microseconds(cores >= cores_for_channels ? 200 : 50);
}

// How long either side polls for the next message before it sleeps, by default: longer than the
// gaps between the calls of a step, so that a sleeping thread is woken once a pause of the program
// and not once a step.
inline constexpr std::chrono::microseconds usual_spin(2000);

// Bytes that a connection has under way before who sends has to wait: what Linux lets a TCP socket
// hold (net.ipv4.tcp_wmem).
inline constexpr std::size_t most_under_way = std::size_t{4} << 20;

}  // namespace gpucast::remote

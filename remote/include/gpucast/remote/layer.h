// Properties of the remote layer that forecasts need, too: scripts/generate_remote_layer.py reads
// them from here. The protocol's other bounds are in protocol/limits.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace gpucast::remote {

// The largest copy that travels within its message.
inline constexpr std::size_t most_inline = std::size_t{1} << 20;
// The client splits copies above this size into pieces and sends them over the bulk connections,
// unless it is configured otherwise. Where the microseconds of a copy go, on loopback of a server's
// processor (measured or published, for orientation):
//
//   one core writes, or reads, a socket          150 to 200 us a MiB; both ends work at once
//   a copy in memory on the way                  60 to 100 us a MiB
//   waking a sleeping thread                     5 to 50 us; polling once takes 1 us
//   the GPU's copy engine                        20 us a MiB, and 10 us for the first byte
//   a driver call that queues a copy             5 us
//
// Within its message, 1 MiB takes one core's time at each end and 3 copies in memory: 300 to 340 us
// on 16 cores beside one H100, where four sockets carry it in 80 us. In pieces it takes 120 to 140
// us: several connections carry it at once, it goes from the program's memory directly to the ring
// that the GPU reads, and the GPU copies what has arrived while the rest is on its way. Below this
// size one core is done before others have begun. The same holds on hosts with fewer cores than
// this, which have none for the threads of the connections: there copies of up to most_inline stay
// in one message.
inline constexpr std::size_t inline_beside_channels = std::size_t{48} << 10;
inline constexpr unsigned cores_for_channels = 8;
constexpr std::size_t usual_inline(unsigned cores) {
  return cores >= cores_for_channels ? inline_beside_channels : most_inline;
}

// Number of bulk connections that a client opens. Each keeps a core busy at either end, and two
// under TLS; eight connections carry copies of 4 MiB and more 1.5 times as fast as four do.
inline constexpr unsigned cores_for_eight = 16;
constexpr int usual_bulk_connections(unsigned cores) { return cores >= cores_for_eight ? 8 : 4; }

// The largest piece of a copy over bulk connections, and the smallest into which longer copies are
// cut.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;
inline constexpr std::size_t least_piece = std::size_t{64} << 10;

// Bytes of the pieces (the last may be shorter) of a copy over this number of bulk connections.
// Four connections carry copies of up to 1 MiB, and all of them longer ones: with more, each thread
// has less to do and they wait for one another. The GPU is told about the part of a piece that has
// arrived before the rest.
constexpr std::size_t piece_of(std::size_t bytes, std::size_t connections) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t few = 4;
  constexpr std::size_t worth_another = piece_bytes / 4;
  const std::size_t share = std::max(bytes / connections, std::min(bytes / few, worth_another));
  // The sum below must not overflow, however large the copy is.
  if (share >= piece_bytes) return piece_bytes;
  return std::clamp((share + page - 1) / page * page, least_piece, piece_bytes);
}

// How long threads of bulk connections poll for the next copy after they have finished one:
// programs copy in each step, and waking 8 or 16 threads takes longer than copies of up to 1 MiB.
// Where there are not enough cores, they poll as long as the next piece of the same copy may take.
constexpr std::chrono::microseconds between_copies(unsigned cores) {
  return std::chrono::microseconds(cores >= cores_for_channels ? 200 : 50);
}

// How long either side polls for the next message before it sleeps, by default: longer than the
// gaps between the calls of a step, so that a thread has to be woken once per pause of the program
// and not once per step.
inline constexpr std::chrono::microseconds usual_spin(2000);

// Bytes that a connection holds in transit before the sender has to wait: the amount that Linux
// lets a TCP socket hold (net.ipv4.tcp_wmem).
inline constexpr std::size_t most_under_way = std::size_t{4} << 20;

}  // namespace gpucast::remote

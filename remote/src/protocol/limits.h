// Bounds of the protocol, and defaults of both sides beside those of gpucast/remote/layer.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpucast/remote/layer.h"

namespace gpucast::remote {

inline constexpr std::uint32_t protocol_version = 5;

// Bulk connections that a client opens. Each is a core's work at either end, and twice that under
// TLS; eight carry copies of 4 MiB and more half as fast again as four do.
constexpr int usual_bulk_connections(unsigned cores) {
  constexpr unsigned cores_for_eight = 16;
  return cores >= cores_for_eight ? 8 : 4;
}

// Of a piece: a ring of piece_ring_bytes takes many.
inline constexpr std::size_t least_piece = std::size_t{64} << 10;
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

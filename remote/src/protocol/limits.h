// Bounds of the protocol, and defaults of both sides in addition to those of
// gpucast/remote/layer.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpucast/remote/layer.h"

namespace gpucast::remote {

inline constexpr std::uint32_t protocol_version = 6;

// A ring holds several pieces.
inline constexpr std::size_t piece_ring_bytes = 8 * piece_bytes;  // of a connection, per direction
// Pieces in a ring: the driver queues only about a thousand calls for the GPU.
inline constexpr std::size_t most_in_ring = 32;

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

// Zstandard of the system, opened when it is first needed: each Linux has it (its package manager
// needs it), and a program that runs over remote GPUs is not linked with it.
#pragma once

#include <optional>
#include <vector>

#include "protocol/wire.h"

namespace gpucast::remote::images {

bool has_zstandard();

// How many bytes it became; 0 where it is no frame, or needs more than there is room for.
// MissingLibrary.
std::size_t decompress(Bytes from, std::span<std::byte> to);

// A frame of the fastest kind; nothing where that saves less than an eighth. MissingLibrary.
std::optional<std::vector<std::byte>> compress(Bytes from);

}  // namespace gpucast::remote::images

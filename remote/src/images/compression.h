// Compressed GPU code, by Zstandard and LZ4 of the system, opened when they are first needed: each
// Linux has Zstandard (its package manager needs it), and a program that runs over remote GPUs is
// linked with neither.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "images/fat_binary.h"
#include "protocol/wire.h"

namespace gpucast::remote::images {

// The library is not on this machine, or not as it has to be, in one line that names it.
class MissingLibrary : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

bool has_zstandard();

// Both by Zstandard.
// How many bytes it became; 0 where it is no frame, or needs more than there is room for.
// MissingLibrary.
std::size_t decompress(Bytes from, std::span<std::byte> to);

// A frame of the fastest kind; nothing where that saves less than an eighth. MissingLibrary.
std::optional<std::vector<std::byte>> compress(Bytes from);

// A member's content as it was before it was compressed: the content itself, or a view of `room`,
// which is filled with it. ImageError where it is not what the member says; MissingLibrary.
Bytes plain_content(const Member& member, std::vector<std::byte>& room);

}  // namespace gpucast::remote::images

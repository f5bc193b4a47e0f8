// Compressed GPU code, by the system's Zstandard and LZ4, which are opened when they are first
// needed: every Linux has Zstandard (its package manager needs it), and programs that run over
// remote GPUs are linked with neither.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

#include "images/fat_binary.h"
#include "protocol/wire.h"

namespace gpucast::remote::images {

// The library is not on this machine, or lacks a function; one line names it.
class MissingLibrary : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

bool has_zstandard();

// Both functions use Zstandard and throw MissingLibrary. The first returns the number of bytes of
// the result, or 0 if the input is no frame or the result does not fit.
std::size_t decompress(Bytes from, std::span<std::byte> to);

// Returns a frame at the fastest level, or nothing if that saves less than an eighth.
std::optional<std::vector<std::byte>> compress(Bytes from);

// Returns a member's content before compression: the content itself, or a view of `room`, which is
// filled with it. Throws ImageError if it contradicts the member's header, and MissingLibrary.
Bytes plain_content(const Member& member, std::vector<std::byte>& room);

}  // namespace gpucast::remote::images

// Contents of compressed members. LZ4 and Zstandard are those of the system, opened when they are
// first needed: each Linux has them (its package manager needs them), and a program that runs over
// remote GPUs is not linked with them.
#pragma once

#include <stdexcept>
#include <vector>

#include "images/fat_binary.h"

namespace gpucast::remote::images {

// The library is not on this machine, in one line that names it.
class NoDecompressor : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A member's content as it was before it was compressed: the content itself, or a view of `room`,
// which is filled with it. ImageError where it is not what the member says; NoDecompressor.
Bytes plain_content(const Member& member, std::vector<std::byte>& room);

}  // namespace gpucast::remote::images

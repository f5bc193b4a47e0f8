// Contents of compressed members. LZ4 is that of the system, as Zstandard is (zstandard.h).
#pragma once

#include <vector>

#include "images/fat_binary.h"
#include "images/zstandard.h"

namespace gpucast::remote::images {

// A member's content as it was before it was compressed: the content itself, or a view of `room`,
// which is filled with it. ImageError where it is not what the member says; MissingLibrary.
Bytes plain_content(const Member& member, std::vector<std::byte>& room);

}  // namespace gpucast::remote::images

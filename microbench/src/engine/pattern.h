// What copied bytes hold: known at every place, different at every place, different for each seed.
#pragma once

#include <cstdint>

#include "engine/host_device.h"

namespace gpucast::microbench {

// The byte at `index` (the finalizer of MurmurHash3 over its word, A. Appleby, public domain).
GPUCAST_HD inline unsigned char pattern(std::uint64_t index, std::uint32_t seed) {
  auto word = static_cast<std::uint32_t>(index >> 2) ^ seed;
  word ^= word >> 16;
  word *= 0x85ebca6bU;
  word ^= word >> 13;
  word *= 0xc2b2ae35U;
  word ^= word >> 16;
  return static_cast<unsigned char>(word >> (8 * (index & 3)));
}

}  // namespace gpucast::microbench

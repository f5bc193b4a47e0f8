// Pseudo-random numbers, the same on host and GPU.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define GPUCAST_TRACE_BOTH __host__ __device__
#else
#define GPUCAST_TRACE_BOTH
#endif

namespace gpucast::trace {

// A bijection of 32-bit numbers (xorshift, Marsaglia 2003), applied `rounds` times. 0 stays 0.
GPUCAST_TRACE_BOTH inline std::uint32_t scrambled(std::uint32_t value, std::int64_t rounds) {
  for (std::int64_t k = 0; k < rounds; ++k) {
    value ^= value << 13U;
    value ^= value >> 17U;
    value ^= value << 5U;
  }
  return value;
}

// A number for each index and seed (multiplicative hash, then xorshift).
GPUCAST_TRACE_BOTH inline std::uint32_t random_of(std::uint32_t index, std::uint32_t seed) {
  return scrambled(index * 2654435761U + seed + 1, 3);
}

}  // namespace gpucast::trace

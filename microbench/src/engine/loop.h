// What CPUs and GPUs both run: a loop over host memory, out[k] = 2 in[list[k]] + 1, and the pattern
// of copied bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Marks functions that CPUs and GPUs run.
#ifdef __CUDACC__
#define GPUCAST_HD __host__ __device__
#else
#define GPUCAST_HD
#endif

namespace gpucast::microbench {

// How a loop reads its array: in order; in the order that a list says, which is in order; in one
// that is random.
enum class LoopPattern { sequential, indirect, random };
enum class Runner { gpu, cpu };

using Index = std::uint32_t;

// in[k]: small whole numbers, exact in float.
GPUCAST_HD inline float loop_input(std::size_t k) { return static_cast<float>(k % 4093); }
GPUCAST_HD inline float loop_result(float input) { return 2 * input + 1; }

// The list of a pattern (empty for what needs none); random ones are always the same.
std::vector<Index> loop_list(LoopPattern pattern, std::size_t count);

// How many floats an array of `bytes` holds: at least one.
constexpr std::size_t floats_of_array(std::int64_t bytes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(bytes) / sizeof(float));
}

std::vector<float> loop_inputs(std::size_t count);

// On the CPU.
void run_loop(float* out, const float* in, const std::vector<Index>& list, std::size_t count);

bool loop_is_correct(std::span<const float> out, const std::vector<Index>& list);

// What copied bytes hold, different at every place and for each seed: the byte at `index` (the
// finalizer of MurmurHash3 over its word, A. Appleby, public domain).
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

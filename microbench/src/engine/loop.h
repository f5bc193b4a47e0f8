// Code that runs on CPUs and GPUs: a loop over host memory, out[k] = 2 in[list[k]] + 1, and the
// pattern of copied bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

// Marks functions that CPUs and GPUs run.
#ifdef __CUDACC__
#define GPUCAST_HD __host__ __device__
#else
#define GPUCAST_HD
#endif

namespace gpucast::microbench {

// The order in which a loop reads its array: sequentially; by a list that is in order; by a random
// one.
enum class LoopPattern { sequential, indirect, random };
enum class Runner { gpu, cpu };

using Index = std::uint32_t;

// in[k]: small whole numbers, exact in float.
GPUCAST_HD inline float loop_input(std::size_t k) { return static_cast<float>(k % 4093); }
GPUCAST_HD inline float loop_result(float input) { return 2 * input + 1; }

// The list of a pattern, which is always the same; empty if it needs none.
inline std::vector<Index> loop_list(LoopPattern pattern, std::size_t count) {
  if (pattern == LoopPattern::sequential) return {};
  std::vector<Index> list(count);
  std::iota(list.begin(), list.end(), Index{0});
  if (pattern == LoopPattern::random) {
    constexpr unsigned seed = 2010;
    std::ranges::shuffle(list, std::mt19937(seed));
  }
  return list;
}

// How many floats an array of `bytes` holds: at least one.
constexpr std::size_t floats_of_array(std::int64_t bytes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(bytes) / sizeof(float));
}

inline std::vector<float> loop_inputs(std::size_t count) {
  std::vector<float> inputs(count);
  for (std::size_t k = 0; k < count; ++k)
    inputs[k] = loop_input(k);
  return inputs;
}

// The loop on the CPU. Not inlined: the same function is timed for all callers.
[[gnu::noinline]] inline void run_loop(float* out, const float* in, const std::vector<Index>& list,
                                       std::size_t count) {
  if (list.empty())
    for (std::size_t k = 0; k < count; ++k)
      out[k] = loop_result(in[k]);
  else
    for (std::size_t k = 0; k < count; ++k)
      out[k] = loop_result(in[list[k]]);
}

inline bool loop_is_correct(std::span<const float> out, const std::vector<Index>& list) {
  for (std::size_t k = 0; k < out.size(); ++k)
    if (out[k] != loop_result(loop_input(list.empty() ? k : list[k]))) return false;
  return true;
}

// The content of copied bytes, different at every position and for each seed: the byte at `index`
// (the finalizer of MurmurHash3 over its word, A. Appleby, public domain).
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

// The loop over host memory that CPUs and GPUs run: out[k] = 2 in[list[k]] + 1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/host_device.h"

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

// Of an array of so many bytes: at least one.
constexpr std::size_t floats_of_array(std::int64_t bytes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(bytes) / sizeof(float));
}

std::vector<float> loop_inputs(std::size_t count);

// On the CPU.
void run_loop(float* out, const float* in, const std::vector<Index>& list, std::size_t count);

bool loop_is_correct(std::span<const float> out, const std::vector<Index>& list);

}  // namespace gpucast::microbench

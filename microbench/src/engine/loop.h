// The loop over host memory that CPUs and GPUs run: out[k] = 2 in[list[k]] + 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/host_device.h"

namespace gpucast::microbench {

using Index = std::uint32_t;

// in[k]: small whole numbers, exact in float.
GPUCAST_HD inline float loop_input(std::size_t k) { return static_cast<float>(k % 4093); }
GPUCAST_HD inline float loop_result(float input) { return 2 * input + 1; }

// The list of a pattern (empty for what needs none); random ones are always the same.
std::vector<Index> loop_list(LoopPattern pattern, std::size_t count);

std::vector<float> loop_inputs(std::size_t count);

// On the CPU.
void run_loop(float* out, const float* in, const std::vector<Index>& list, std::size_t count);

bool loop_is_correct(std::span<const float> out, const std::vector<Index>& list);

}  // namespace gpucast::microbench

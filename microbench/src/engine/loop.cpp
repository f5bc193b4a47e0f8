#include "engine/loop.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace gpucast::microbench {

std::vector<Index> loop_list(LoopPattern pattern, std::size_t count) {
  if (pattern == LoopPattern::sequential) return {};
  std::vector<Index> list(count);
  std::iota(list.begin(), list.end(), Index{0});
  if (pattern == LoopPattern::random) {
    constexpr unsigned seed = 2010;
    std::ranges::shuffle(list, std::mt19937(seed));
  }
  return list;
}

std::vector<float> loop_inputs(std::size_t count) {
  std::vector<float> inputs(count);
  for (std::size_t k = 0; k < count; ++k)
    inputs[k] = loop_input(k);
  return inputs;
}

void run_loop(float* out, const float* in, const std::vector<Index>& list, std::size_t count) {
  if (list.empty()) {
    for (std::size_t k = 0; k < count; ++k)
      out[k] = loop_result(in[k]);
  } else {
    for (std::size_t k = 0; k < count; ++k)
      out[k] = loop_result(in[list[k]]);
  }
}

bool loop_is_correct(std::span<const float> out, const std::vector<Index>& list) {
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::size_t from = list.empty() ? k : list[k];
    if (out[k] != loop_result(loop_input(from))) return false;
  }
  return true;
}

}  // namespace gpucast::microbench

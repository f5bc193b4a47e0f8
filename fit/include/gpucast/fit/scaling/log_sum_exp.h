// The logarithm of a sum of values that are given as logarithms, and may leave the range of
// numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace gpucast::fit::scaling {

inline double log_sum_exp(const std::vector<double>& logarithms) {
  const double largest = *std::ranges::max_element(logarithms);
  double sum = 0;
  for (const double each : logarithms)
    sum += std::exp(each - largest);
  return largest + std::log(sum);
}

}  // namespace gpucast::fit::scaling

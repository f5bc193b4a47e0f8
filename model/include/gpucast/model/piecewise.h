// A chain of straight pieces through the origin: what times are made of where the data show bends
// and theory gives no formula.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "gpucast/model/parameter.h"

namespace gpucast::model {

// f(x) = sum_i slope_i clamp(x - x_(i-1), 0, x_i - x_(i-1)), with breakpoints 0 = x_0 < x_1 < ... <
// x_q, the last piece without end: q + 1 slopes. Linear in the slopes; with slopes of at least 0 it
// never falls.
template <class T>
T piecewise(const std::vector<double>& breakpoints, const T* slope, double x) {
  T sum = slope[0] * 0.0;
  double begin = 0;
  for (std::size_t i = 0; i < breakpoints.size(); ++i) {
    if (x <= breakpoints[i]) {
      return sum + slope[i] * (x - begin);
    }
    sum += slope[i] * (breakpoints[i] - begin);
    begin = breakpoints[i];
  }
  return sum + slope[breakpoints.size()] * (x - begin);
}

// `before`, then the slopes: those below a breakpoint are numbered, the last has `slope`'s own
// name.
inline std::vector<Parameter> slope_parameters(const Parameter& slope,
                                               const std::vector<double>& breakpoints,
                                               const std::vector<Parameter>& before = {}) {
  std::vector<Parameter> result = before;
  for (std::size_t i = 0; i < breakpoints.size(); ++i) {
    Parameter piece = slope;
    piece.name.append("_").append(std::to_string(i + 1));
    piece.meaning.append(", below breakpoint ").append(std::to_string(i + 1));
    result.push_back(std::move(piece));
  }
  result.push_back(slope);
  return result;
}

}  // namespace gpucast::model

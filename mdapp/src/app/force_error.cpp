#include "app/force_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gpucast::mdapp {
namespace {

// Whether a rounded coordinate could have fallen on the other side of the jump.
bool at_jump(const System& system, int i) {
  if (system.boundary.kind != BoundaryKind::minimum_image) return false;
  const double side = system.boundary.side;
  const double close = 1e-6 * side;
  const double* ri = &system.r[3 * static_cast<std::size_t>(i)];
  for (int j = 0; j < system.n(); ++j) {
    const double* rj = &system.r[3 * static_cast<std::size_t>(j)];
    for (int a = 0; a < 3; ++a) {
      if (std::abs(nearest_image(ri[a] - rj[a], side)) > side / 2 - close) return true;
    }
  }
  return false;
}

}  // namespace

ForceError force_error(const System& system, std::span<const Force> forces,
                       const ReferenceForces& exact) {
  double squared_error = 0;
  double squared_force = 0;
  double largest = 0;
  double sum[3] = {};
  double lengths = 0;
  for (int i = 0; i < system.n(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double own[3] = {forces[k].x, forces[k].y, forces[k].z};
    const double* expected = &exact.force[3 * k];
    double error = 0;
    for (int a = 0; a < 3; ++a) {
      error += (own[a] - expected[a]) * (own[a] - expected[a]);
      squared_force += expected[a] * expected[a];
      sum[a] += own[a];
    }
    lengths += std::hypot(own[0], own[1], own[2]);
    if (at_jump(system, i)) continue;
    squared_error += error;
    // Not std::max, which would drop a NaN.
    if (!(std::sqrt(error) <= largest)) largest = std::sqrt(error);
  }
  const double rms_force = std::sqrt(squared_force / system.n());
  return {.rms = std::sqrt(squared_error / system.n()) / rms_force,
          .largest = largest / rms_force,
          .sum = std::hypot(sum[0], sum[1], sum[2]) / lengths};
}

}  // namespace gpucast::mdapp

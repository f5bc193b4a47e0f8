#include "physics/overlap.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace gpucast::mdapp {
namespace {

const double* position(const System& system, int k) {
  return &system.r[3 * static_cast<std::size_t>(k)];
}

double distance(const System& system, int i, int j) {
  double r2 = 0;
  for (int a = 0; a < 3; ++a) {
    double d = position(system, i)[a] - position(system, j)[a];
    if (periodic(system.boundary.kind)) d = nearest_image(d, system.boundary.side);
    r2 += d * d;
  }
  return std::sqrt(r2);
}

std::string ion(const System& system, int k) {
  const auto kk = static_cast<std::size_t>(k);
  return std::to_string(system.origin[kk] + 1) + " (" +
         std::string(system.salt.symbol[static_cast<std::size_t>(system.type(k))]) + ")";
}

}  // namespace

ClosestPair closest_pair(const System& system) {
  std::vector<int> order;
  for (int k = 0; k < system.n(); ++k) {
    const double* r = position(system, k);
    if (std::isfinite(r[0]) && std::isfinite(r[1]) && std::isfinite(r[2])) order.push_back(k);
  }
  std::ranges::sort(order, {}, [&](int k) { return position(system, k)[0]; });
  ClosestPair closest{.distance = std::numeric_limits<double>::infinity()};
  const std::size_t count = order.size();
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t step = 1; step < count; ++step) {
      std::size_t b = a + step;
      double along = 0;
      if (b < count) {
        along = position(system, order[b])[0] - position(system, order[a])[0];
      } else if (periodic(system.boundary.kind)) {
        b -= count;  // round the cell
        along =
            position(system, order[b])[0] - position(system, order[a])[0] + system.boundary.side;
      } else {
        break;
      }
      if (along >= closest.distance) break;
      const double d = distance(system, order[a], order[b]);
      if (d < closest.distance) {
        closest = {
            .i = std::min(order[a], order[b]), .j = std::max(order[a], order[b]), .distance = d};
      }
    }
  }
  return closest;
}

std::string describe_overlap(const System& system) {
  const ClosestPair pair = closest_pair(system);
  if (pair.j < 0) return "positions are no longer finite";
  char apart[32];
  std::snprintf(apart, sizeof apart, "%.3g", pair.distance);
  return "particles " + ion(system, pair.i) + " and " + ion(system, pair.j) + " overlap: " + apart +
         " angstrom apart";
}

}  // namespace gpucast::mdapp

#include "physics/observables.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gpucast/support/human.h"
#include "physics/pair.h"

namespace gpucast::mdapp {

double kinetic_energy(const System& system) {
  double twice = 0;
  for (int k = 0; k < system.n(); ++k) {
    const double* v = &system.v[3 * static_cast<std::size_t>(k)];
    twice += system.mass(k) * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  }
  return twice / 2;
}

double temperature(const System& system) {
  return 2 * kinetic_energy(system) /
         (degrees_of_freedom(system) * system.salt.constants.boltzmann);
}

std::array<double, 3> momentum(const System& system) {
  std::array<double, 3> sum{};
  for (int k = 0; k < system.n(); ++k)
    for (std::size_t a = 0; a < 3; ++a)
      sum[a] += system.mass(k) * system.v[3 * static_cast<std::size_t>(k) + a];
  return sum;
}

double pressure(const System& system, const Potential& potential) {
  const double side = system.boundary.side;
  const double volume = side * side * side;  // angstrom^3
  constexpr double pascal_per_bar = 1e5;
  return (2 * kinetic_energy(system) + potential.virial) / (3 * volume) * bar_per_eV_angstrom3 *
         pascal_per_bar;
}

Potential with_self_energy(const System& system, const Potential& pairs) {
  return {.energy = pairs.energy + system.n() * self_energy(system.salt, system.boundary),
          .virial = pairs.virial};
}

Potential sum_of(const System& system, std::span<const PairSums> particles) {
  Potential pairs;
  for (const PairSums& particle : particles) {
    pairs.energy += particle.energy;
    pairs.virial += particle.virial;
  }
  return with_self_energy(system, pairs);
}

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
      const bool around = a + step >= count;  // the periodic cell
      if (around && !periodic(system.boundary.kind)) break;
      const int b = order[(a + step) % count];
      const double along = position(system, b)[0] - position(system, order[a])[0] +
                           (around ? system.boundary.side : 0);
      if (along >= closest.distance) break;
      const double d = distance(system, order[a], b);
      if (d < closest.distance)
        closest = {.i = std::min(order[a], b), .j = std::max(order[a], b), .distance = d};
    }
  }
  return closest;
}

std::string describe_overlap(const System& system) {
  const ClosestPair pair = closest_pair(system);
  if (pair.j < 0) return "positions are no longer finite";
  return "particles " + ion(system, pair.i) + " and " + ion(system, pair.j) +
         " overlap: " + support::figure("%.3g", pair.distance) + " angstrom apart";
}

}  // namespace gpucast::mdapp

#include "app/scalar_loop.h"

#include <algorithm>
#include <vector>

#include "gpucast/devices/clock.h"
#include "physics/pair.h"

namespace gpucast::mdapp {
namespace {

// Forces on all particles; `r` in lambda.
void scalar_loop(const System& system, const ForceField<double>& field,
                 const std::vector<double>& r, std::vector<double>& forces) {
  for (int i = 0; i < system.n(); ++i) {
    const double* ri = &r[3 * static_cast<std::size_t>(i)];
    double force[3] = {};
    for (int j = 0; j < system.n(); ++j) {
      if (j == i) continue;
      const double* rj = &r[3 * static_cast<std::size_t>(j)];
      const double d[3] = {ri[0] - rj[0], ri[1] - rj[1], ri[2] - rj[2]};
      const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      const auto pair = pair_value<PlainMath, BoundaryKind::open, false>(
          r2, field.pair[system.type(i)][system.type(j)], field.shared);
      for (int a = 0; a < 3; ++a)
        force[a] += pair.force_over_r * d[a];
    }
    std::copy_n(force, 3, &forces[3 * static_cast<std::size_t>(i)]);
  }
}

}  // namespace

double scalar_loop_pairs_per_second(const System& system) {
  using devices::Clock;
  const auto field = force_field<double>(system.salt, system.boundary);
  std::vector<double> r = system.r;
  for (double& x : r)
    x /= decay_length(system.salt);
  std::vector<double> forces(r.size());
  double shortest = 1e300;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const auto begin = Clock::now();
    scalar_loop(system, field, r, forces);
    shortest = std::min(shortest, devices::seconds_since(begin));
  }
  // A sum that is used keeps the loop from being left out.
  const double sum = forces[0] + forces[forces.size() - 1];
  const double n = system.n();
  return sum == sum ? n * n / shortest : 0;
}

}  // namespace gpucast::mdapp

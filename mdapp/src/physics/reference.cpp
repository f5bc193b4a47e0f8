#include "physics/reference.h"

#include <algorithm>
#include <iterator>
#include <thread>

#include "physics/integrator.h"
#include "physics/pair.h"

namespace gpucast::mdapp {
namespace {

struct Sums {
  double force[3] = {};
  double energy = 0;
  double virial = 0;
};

template <class Math, BoundaryKind kind, bool with_energy>
Sums on_particle(const System& system, const ForceField<double>& field,
                 const std::vector<double>& r, int i) {
  Sums sums;
  const double* ri = &r[3 * static_cast<std::size_t>(i)];
  for (int j = 0; j < system.n(); ++j) {
    if (j == i) continue;
    const double* rj = &r[3 * static_cast<std::size_t>(j)];
    double d[3];
    for (int a = 0; a < 3; ++a)
      d[a] = separation<Math, kind>(ri[a], rj[a], field.shared);
    const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    const auto pair = pair_value<Math, kind, with_energy>(
        r2, field.pair[system.type(i)][system.type(j)], field.shared);
    for (int a = 0; a < 3; ++a)
      sums.force[a] += pair.force_over_r * d[a];
    if constexpr (with_energy) {
      sums.energy += (pair.energy.short_range + pair.energy.coulomb) * field.shared.lambda / 2;
      sums.virial += pair.force_over_r * r2 * field.shared.lambda / 2;
    }
  }
  return sums;
}

// `r`: positions in lambda.
ReferenceForces forces_at(const System& system, const std::vector<double>& r, int threads) {
  const auto field = force_field<double>(system.salt, system.boundary);
  const auto n = static_cast<std::size_t>(system.n());
  ReferenceForces result{.force = std::vector<double>(3 * n), .energy = std::vector<double>(n)};
  std::vector<double> virial(n);
  const auto run = [&](Slice slice) {
    for (int i = slice.first; i < slice.first + slice.count; ++i) {
      Sums sums;
      dispatch(system.boundary.kind, true, [&]<BoundaryKind kind, bool with_energy> {
        sums = on_particle<ExactMath, kind, with_energy>(system, field, r, i);
      });
      const auto k = static_cast<std::size_t>(i);
      std::copy_n(sums.force, 3, &result.force[3 * k]);
      result.energy[k] = sums.energy;
      virial[k] = sums.virial;
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int t = 1; t < threads; ++t)
      workers.emplace_back(run, slice_of(system.n(), threads, t));
    run(slice_of(system.n(), threads, 0));
  }
  result.potential.energy = system.n() * self_energy(system.salt, system.boundary);
  for (std::size_t k = 0; k < n; ++k) {
    result.potential.energy += result.energy[k];
    result.potential.virial += virial[k];
  }
  return result;
}

std::vector<double> in_decay_lengths(const System& system) {
  std::vector<double> r = system.r;
  for (double& x : r)
    x /= decay_length(system.salt);
  return r;
}

}  // namespace

ReferenceForces reference_forces(const System& system, int threads) {
  return forces_at(system, in_decay_lengths(system), threads);
}

ReferenceForces reference_forces_at_float(const System& system, int threads) {
  return forces_at(system, rounded_positions(system), threads);
}

std::vector<double> scalar_forces(const System& system) {
  const auto field = force_field<double>(system.salt, system.boundary);
  const std::vector<double> r = in_decay_lengths(system);
  std::vector<double> forces;
  forces.reserve(r.size());
  for (int i = 0; i < system.n(); ++i) {
    const Sums sums = on_particle<PlainMath, BoundaryKind::open, false>(system, field, r, i);
    forces.insert(forces.end(), std::begin(sums.force), std::end(sums.force));
  }
  return forces;
}

}  // namespace gpucast::mdapp

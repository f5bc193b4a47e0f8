#include "physics/observables.h"

#include "physics/pair.h"
#include "physics/units.h"

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
  for (int k = 0; k < system.n(); ++k) {
    for (std::size_t a = 0; a < 3; ++a) {
      sum[a] += system.mass(k) * system.v[3 * static_cast<std::size_t>(k) + a];
    }
  }
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

}  // namespace gpucast::mdapp

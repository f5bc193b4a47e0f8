#include "app/observe.h"

#include <cmath>

#include "physics/observables.h"
#include "physics/units.h"

namespace gpucast::mdapp {

Observation observe(Stepper& stepper, double time) {
  const Potential potential = stepper.potential();
  const System& system = stepper.system();
  const double n = system.n();
  Observation seen{.time = time,
                   .kinetic = kinetic_energy(system) / n,
                   .potential = potential.energy / n,
                   .temperature = temperature(system),
                   .pressure = pressure(system, potential),
                   .momentum = momentum(system)};
  seen.total = seen.kinetic + seen.potential;
  for (double& component : seen.momentum)
    component *= atomic_mass_unit * angstrom / time_unit;
  return seen;
}

Summary summarize(const std::vector<Observation>& observations) {
  Summary summary;
  const auto count = static_cast<double>(observations.size());
  double mean_time = 0;
  double mean_total = 0;
  for (const Observation& seen : observations) {
    mean_time += seen.time / count;
    mean_total += seen.total / count;
    summary.mean_temperature += seen.temperature / count;
    summary.mean_pressure += seen.pressure / count;
  }
  double time_time = 0;
  double time_total = 0;
  double total_total = 0;
  for (const Observation& seen : observations) {
    const double t = seen.time - mean_time;
    const double e = seen.total - mean_total;
    time_time += t * t;
    time_total += t * e;
    total_total += e * e;
  }
  constexpr double picosecond = 1e-12;
  summary.total_rms = std::sqrt(total_total / count);
  if (time_time > 0) summary.total_drift = time_total / time_time * picosecond;
  return summary;
}

}  // namespace gpucast::mdapp

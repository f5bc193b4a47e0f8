#include "app/simulate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "physics/observables.h"
#include "physics/units.h"

namespace gpucast::mdapp {
namespace {

constexpr double longest_row = 0.2;  // s between looks at Ctrl-C
constexpr std::int64_t most_in_a_row = 4096;

// Makes `count` steps, or fewer if interrupted.
std::int64_t advance(Stepper& stepper, std::int64_t count, Processes& processes,
                     const std::stop_token& interrupted) {
  std::int64_t row = 1;
  std::int64_t made = 0;
  while (made < count) {
    const bool stop = interrupted.stop_requested();
    const auto next = static_cast<int>(
        processes.agree(stop ? 0.0 : static_cast<double>(std::min(row, count - made))));
    if (next == 0) break;
    const auto seconds = stepper.steps(next);
    made += next;
    const bool short_row = std::accumulate(seconds.begin(), seconds.end(), 0.0) < longest_row / 2;
    row = short_row ? std::min(2 * row, most_in_a_row) : std::max<std::int64_t>(1, row / 2);
  }
  return made;
}

}  // namespace

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

std::int64_t simulate(Stepper& stepper, const Simulation& simulation, Processes& processes,
                      const std::stop_token& interrupted) {
  const auto show = [&](std::int64_t made) {
    const double time = static_cast<double>(made) * simulation.dt;
    simulation.observed(observe(stepper, time));
    if (simulation.frame) simulation.frame(stepper.system(), time);
  };
  std::int64_t made = 0;
  show(made);
  while (made < simulation.steps) {
    const std::int64_t wanted = std::min(simulation.every, simulation.steps - made);
    const std::int64_t now = advance(stepper, wanted, processes, interrupted);
    made += now;
    if (now < wanted) break;
    show(made);
  }
  return made;
}

}  // namespace gpucast::mdapp

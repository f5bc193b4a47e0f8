#include "app/simulate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gpucast/devices/clock.h"
#include "physics/motion.h"
#include "physics/observables.h"
#include "physics/reference.h"
#include "physics/salt.h"

namespace gpucast::mdapp {
namespace {

constexpr double longest_unwatched = 0.2;  // s between checks of Ctrl-C
constexpr std::int64_t most_unwatched = 4096;

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
    const bool short_row =
        std::accumulate(seconds.begin(), seconds.end(), 0.0) < longest_unwatched / 2;
    row = short_row ? std::min(2 * row, most_unwatched) : std::max<std::int64_t>(1, row / 2);
  }
  return made;
}

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

}  // namespace

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

namespace {

using devices::Clock;

class DoubleStepper : public Stepper {
 public:
  DoubleStepper(System system, const IntegratorOptions& options, int threads)
      : system_(std::move(system)),
        verlet_(options.kind == IntegratorKind::verlet),
        motion_(motion_of(options, system_)),
        threads_(threads) {
    compute();
  }

  std::vector<double> steps(int count) override {
    std::vector<double> result;
    for (int k = 0; k < count; ++k) {
      const auto begin = Clock::now();
      step();
      result.push_back(devices::seconds_since(begin));
    }
    return result;
  }

  Phases step_in_phases() override { return {.cpu = steps(1).front()}; }

  const System& system() override { return system_; }
  Potential potential() override { return reference_forces(system_, threads_).potential; }
  std::vector<Traffic> traffic() const override { return {}; }

 private:
  void step() {
    if (verlet_) {
      kick_all(motion_);
      drift_all();
      compute();
      kick_all(motion_);
      return;
    }
    compute();
    Motion motion = with_friction(motion_, friction_);
    for (std::size_t k = 0; k < forces_.size(); ++k)
      motion.mean_force[k % 3] += forces_[k] / system_.n();
    kick_all(motion);
    friction_ = next_friction(friction_, 2 * kinetic_energy(system_), motion_);
    drift_all();
  }

  void compute() {
    forces_ = reference_forces(system_, threads_).force;
    for (const double force : forces_)
      if (!sound(static_cast<float>(force))) throw Overlap(describe_overlap(system_));
  }

  void kick_all(const Motion& motion) {
    for (std::size_t k = 0; k < forces_.size(); ++k)
      kick(system_.v[k], forces_[k], motion, system_.type(static_cast<int>(k / 3)),
           static_cast<int>(k % 3));
  }

  void drift_all() {
    for (std::size_t k = 0; k < forces_.size(); ++k)
      drift(system_.r[k], system_.v[k], motion_);
  }

  System system_;
  bool verlet_;
  Motion motion_;
  int threads_;
  double friction_ = 0;
  std::vector<double> forces_;
};

}  // namespace

std::unique_ptr<Stepper> double_stepper(System system, const IntegratorOptions& integrator,
                                        int threads) {
  return std::make_unique<DoubleStepper>(std::move(system), integrator, threads);
}

}  // namespace gpucast::mdapp

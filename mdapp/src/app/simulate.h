// Runs a simulation and prints observables during the run, and their summary.
#pragma once

#include <array>
#include <stop_token>

#include "schedule/schedule.h"

namespace gpucast::mdapp {

struct Observation {
  double time = 0;       // s
  double kinetic = 0;    // eV per ion
  double potential = 0;  // eV an ion
  double total = 0;      // eV an ion
  double temperature = 0;
  double pressure = 0;               // Pa
  std::array<double, 3> momentum{};  // kg m/s
};

struct Summary {
  double total_rms = 0;  // of the total energy about its mean, eV an ion
  // Slope of its least-squares line, eV per ion and ps; 0 for one observation.
  double total_drift = 0;
  double mean_temperature = 0;
  double mean_pressure = 0;
};

Summary summarize(const std::vector<Observation>& observations);

struct Simulation {
  std::int64_t steps = 0;
  std::int64_t every = 1;  // steps between observations; the last step is observed, too
  double dt = 0;           // s
  std::function<void(const Observation&)> observed{};
  std::function<void(const System&, double time)> frame{};  // may be empty
};

// Returns the number of steps: all, unless interrupted. Throws what the stepper throws. All
// processes call it together; `observed` and `frame` are called on each.
std::int64_t simulate(Stepper& stepper, const Simulation& simulation, Processes& processes,
                      const std::stop_token& interrupted);

// Steps in double precision on host threads, for comparison with float runs.
std::unique_ptr<Stepper> double_stepper(System system, const IntegratorOptions& integrator,
                                        int threads);

}  // namespace gpucast::mdapp

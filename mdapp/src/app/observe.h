// What a simulation shows: observables along the way, and their summary.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "schedule/stepper.h"

namespace gpucast::mdapp {

struct Observation {
  double time = 0;       // s
  double kinetic = 0;    // eV an ion
  double potential = 0;  // eV an ion
  double total = 0;      // eV an ion
  double temperature = 0;
  double pressure = 0;               // Pa
  std::array<double, 3> momentum{};  // kg m/s
};

// `time` since the start, s. All processes call it together.
Observation observe(Stepper& stepper, double time);

struct Summary {
  double total_rms = 0;    // of the total energy about its mean, eV an ion
  double total_drift = 0;  // slope of its least-squares line, eV an ion a ps; 0 for one observation
  double mean_temperature = 0;
  double mean_pressure = 0;
};

Summary summarize(const std::vector<Observation>& observations);

}  // namespace gpucast::mdapp

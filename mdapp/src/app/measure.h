// Measures one cell: warms up, then times steps until their median is known well enough.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <vector>

#include "gpucast/support/stopping.h"
#include "schedule/processes.h"
#include "schedule/stepper.h"

namespace gpucast::mdapp {

// When a cell has been measured enough.
struct Enough {
  std::optional<std::size_t> steps = std::nullopt;  // so many, whatever their times
  double relative_half_width = 0.01;                // of the median's 95 % interval
  double max_seconds = 2;                           // of timed steps
};

struct MeasureOptions {
  Enough enough;
  support::WarmUp::Options warm_up;
  bool energy = false;  // its drift
  bool phases = true;   // time some steps phase by phase
};

struct Measured {
  std::vector<double> seconds{};                      // of each timed step
  std::vector<Phases> phases{};                       // of steps in between
  Traffic bytes_a_step{};                             // over all devices
  std::optional<double> energy_drift = std::nullopt;  // relative
  bool interrupted = false;
};

// Throws what the stepper throws. All processes call it together; the first one's clock decides.
Measured measure(Stepper& stepper, const MeasureOptions& options, Processes& processes,
                 const std::stop_token& interrupted);

}  // namespace gpucast::mdapp

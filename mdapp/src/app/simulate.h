// Runs a simulation and shows what it does.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "app/observe.h"
#include "schedule/processes.h"
#include "schedule/stepper.h"

namespace gpucast::mdapp {

struct Simulation {
  std::int64_t steps = 0;
  std::int64_t every = 1;  // steps from one observation to the next; the last step has one, too
  double dt = 0;           // s
  std::function<void(const Observation&)> observed{};
  std::function<void(const System&, double time)> frame{};  // may be empty
};

// Returns the steps made: all, unless interrupted. Throws what the stepper throws. All processes
// call it together; `observed` and `frame` are called on each.
std::int64_t simulate(Stepper& stepper, const Simulation& simulation, Processes& processes,
                      const std::stop_token& interrupted);

}  // namespace gpucast::mdapp

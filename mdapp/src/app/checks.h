// What `gpucast-mdapp check` looks at: whether an engine computes and moves what it should.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "engine/engine.h"

namespace gpucast::mdapp {

struct Check {
  std::string what;
  double figure = 0;
  double limit = 0;          // the figure may be as large as this
  std::string skipped = {};  // why it was not made

  bool passed() const { return !skipped.empty() || figure <= limit; }  // never with NaN
};

// Calls `report` with each check as it is made: forces against double precision, bytes a step,
// trajectories over device counts and schedules, overlapping particles. Throws what devices throw.
void check_engine(Engine& engine, const std::function<void(const Check&)>& report,
                  const std::stop_token& interrupted);

}  // namespace gpucast::mdapp

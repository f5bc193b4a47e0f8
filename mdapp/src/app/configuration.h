// Forces and energies of one configuration, by whatever computes them.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "physics/observables.h"
#include "physics/system.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

// In the order of the system.
struct Forces {
  std::vector<double> r;       // positions as they were used: in float, rounded to it; angstrom
  std::vector<double> force;   // x0 y0 z0 x1 ..., eV/angstrom
  std::vector<double> energy;  // of each particle: half its pairs' and its own (dsf), eV
  Potential potential;
};

// Forces computed by devices, in single precision. Throws Overlap, and InputError for allgather,
// whose forces stay on the GPUs. All processes call it together.
Forces forces_in_float(Engine& engine, const System& system, const ScheduleOptions& schedule);

// Forces computed by host threads, in double precision. Throws Overlap.
Forces forces_in_double(const System& system, int threads);

}  // namespace gpucast::mdapp

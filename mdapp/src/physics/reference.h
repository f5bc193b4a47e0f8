// Forces in double precision, the plain way: what every kernel is held against.
#pragma once

#include <vector>

#include "physics/observables.h"
#include "physics/system.h"

namespace gpucast::mdapp {

struct ReferenceForces {
  std::vector<double> force{};   // x0 y0 z0 x1 ..., eV/angstrom
  std::vector<double> energy{};  // half of each particle's pair energies, eV
  Potential potential{};
};

// All ordered pairs of `system`, shared out over `threads`. Sums run in one order whatever their
// number.
ReferenceForces reference_forces(const System& system, int threads = 1);

// The same at positions rounded to float, which is what devices get.
ReferenceForces reference_forces_at_float(const System& system, int threads = 1);

// The plain loop over pairs that one would write first, which kernels are compared with in speed:
// forces alone, in an open box, by one thread. x0 y0 z0 x1 ..., eV/angstrom.
std::vector<double> scalar_forces(const System& system);

}  // namespace gpucast::mdapp

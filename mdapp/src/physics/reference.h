// Forces in double precision by a straightforward algorithm, the reference for every kernel.
#pragma once

#include "physics/observables.h"

namespace gpucast::mdapp {

struct ReferenceForces {
  std::vector<double> force{};   // x0 y0 z0 x1 ..., eV/angstrom
  std::vector<double> energy{};  // half of each particle's pair energies, eV
  Potential potential{};
};

// All ordered pairs of `system`, computed by `threads` threads. The order of sums does not depend
// on their number.
ReferenceForces reference_forces(const System& system, int threads = 1);

// The same at positions rounded to float, as devices receive them.
ReferenceForces reference_forces_at_float(const System& system, int threads = 1);

// The simplest loop over pairs, with which the speed of kernels is compared: forces only, in an
// open box, by one thread. x0 y0 z0 x1 ..., eV/angstrom.
std::vector<double> scalar_forces(const System& system);

}  // namespace gpucast::mdapp

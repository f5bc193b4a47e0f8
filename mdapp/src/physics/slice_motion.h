// The motion of a slice of the particles on a CPU: what the host does for all of them, or a host
// device for its own. Compiled without contraction (physics/motion.h).
#pragma once

#include <cstdint>

#include "physics/exact_sum.h"
#include "physics/motion.h"
#include "physics/particle.h"

namespace gpucast::mdapp {

// `count` particles, the first `cations` of them of type 0; arrays start at the slice's first.
struct SliceOfParticles {
  double* r;  // x0 y0 z0 x1 ...
  double* v;
  const Force* forces;
  Position* positions;
  int count;
  int cations;
};

// Whether all forces are finite and no larger than a force between ions can be.
bool all_sound(const SliceOfParticles& slice);

void kick_all(const SliceOfParticles& slice, const Motion& given);
void kick_and_drift_all(const SliceOfParticles& slice, const Motion& given);
void pack_all(const SliceOfParticles& slice, double inverse_lambda);

// Sums of the forces, and of m v^2 between kick and drift; in quanta (exact_sum.h).
void add_forces(const SliceOfParticles& slice, std::int64_t (&sums)[3]);
std::int64_t kick_and_drift_counting(const SliceOfParticles& slice, const Motion& motion);

}  // namespace gpucast::mdapp

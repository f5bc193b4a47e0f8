// How far single-precision forces are from those in double precision at the same positions.
#pragma once

#include <span>

#include "physics/particle.h"
#include "physics/reference.h"
#include "physics/system.h"

namespace gpucast::mdapp {

// Over the rms force.
struct ForceError {
  double rms = 0;
  double largest = 0;
  double sum = 0;  // |sum F| / sum |F|
};

// `exact`: of the same positions, rounded to float. Under minimum image the force jumps where a
// pair is half a side apart in some direction, and either side of the jump is right: particles in
// such pairs are left out of rms and largest.
ForceError force_error(const System& system, std::span<const Force> forces,
                       const ReferenceForces& exact);

}  // namespace gpucast::mdapp

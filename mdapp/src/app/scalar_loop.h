// What kernels are compared with in speed: the plain loop over pairs that one would write first.
#pragma once

#include "physics/system.h"

namespace gpucast::mdapp {

// Ordered pairs a second of one core in double precision, open boundary, forces alone.
double scalar_loop_pairs_per_second(const System& system);

}  // namespace gpucast::mdapp

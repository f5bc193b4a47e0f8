// Configurations of melts, as forces and schedules are tested on.
#pragma once

#include <cstdint>
#include <random>

#include "physics/system.h"

namespace gpucast::mdapp::test {

// Rock salt, every coordinate moved by up to half an angstrom: pairs as close as in a melt, and
// none that overlap.
inline System shaken(const Salt& salt, int n, const Surroundings& around = {},
                     std::uint64_t seed = 1) {
  System system = rock_salt(salt, n, around);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> displacement(-0.5, 0.5);
  for (double& x : system.r)
    x += displacement(random);
  return system;
}

// The same, moving at 1100 K.
inline System melt(const Salt& salt, int n, const Surroundings& around = {}) {
  System system = shaken(salt, n, around);
  set_velocities(system, 1100, 5);
  return system;
}

}  // namespace gpucast::mdapp::test

// Sums that come out the same, bit for bit, whoever adds what in which order: the terms are rounded
// to multiples of a fixed quantum and added as integers. Used where the sum over all particles acts
// back on each (mean force, temperature), so that a trajectory does not depend on how many devices
// or processes added it up.
#pragma once

#include <cstdint>

#include "physics/portable.h"

namespace gpucast::mdapp {

// 2^-32 of the quantity's unit: a million terms of up to a thousand units fit.
inline constexpr double quanta_per_unit = 4294967296.0;

GPUCAST_HD inline std::int64_t to_quanta(double term) {
  return static_cast<std::int64_t>(term * quanta_per_unit);
}

GPUCAST_HD inline double from_quanta(std::int64_t sum) {
  return static_cast<double>(sum) / quanta_per_unit;
}

// What a step with a thermostat sums up over all particles.
struct StepSums {
  std::int64_t force[3] = {0, 0, 0};  // eV/angstrom
  std::int64_t twice_kinetic = 0;     // sum of m v^2, eV
};

}  // namespace gpucast::mdapp

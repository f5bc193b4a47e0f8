// How one component of one particle moves in a step: shared by the host's loops and the GPU's
// integration kernel. Both are compiled without contracting a x + b into one rounding, so that both
// give the same bits.
#pragma once

#include "physics/math.h"
#include "physics/particle.h"

namespace gpucast::mdapp {

// Sums that are bitwise independent of the order of additions: the terms are rounded to multiples
// of a fixed quantum and added as integers. They are used where the sum over all particles affects
// each one (mean force, temperature), so that a trajectory does not depend on the number of devices
// or processes. The quantum is 2^-32 of the quantity's unit: a million terms of up to a thousand
// units fit.
inline constexpr double quanta_per_unit = 4294967296.0;

GPUCAST_HD inline std::int64_t to_quanta(double term) {
  return static_cast<std::int64_t>(term * quanta_per_unit);
}

GPUCAST_HD inline double from_quanta(std::int64_t sum) {
  return static_cast<double>(sum) / quanta_per_unit;
}

// The sums over all particles in a step with a thermostat.
struct StepSums {
  std::int64_t force[3] = {0, 0, 0};  // eV/angstrom
  std::int64_t twice_kinetic = 0;     // sum of m v^2, eV
};

// Velocity Verlet (Swope et al. 1982): half a kick, drift, forces, half a kick.
// Leap-frog with Nose-Hoover friction, as in Claret: v <- (v (1 - x) + h f/m) / (1 + x), drift.
enum class IntegratorKind { verlet, nose_hoover };

// Everything except the particle that a step's motion depends on; h in time_unit.
struct Motion {
  double mass[2];         // by type, u
  double kick[2];         // by type: h/m, or h/(2 m) where the step kicks twice; over 1 + x
  double keep = 1;        // (1 - x) / (1 + x), x the thermostat's friction
  double inverse_lambda;  // 1/angstrom, positions as devices get them
  double drift;           // h
  double half_side;       // angstrom, where the walls stand or the images meet
  bool periodic;
  double mean_force[3] = {0, 0, 0};  // taken from every force, eV/angstrom
  // The thermostat: x += (T/T0 - 1) (h/tau)^2 / 2 after each step; 0 where there is none.
  double thermostat_rate = 0;   // (h/tau)^2 / 2
  double twice_kinetic_target;  // 3 (n - 1) k_B T0, eV
};

// Friction after a step, from the sum of m v^2 over all particles (eV).
GPUCAST_HD inline double next_friction(double friction, double twice_kinetic,
                                       const Motion& motion) {
  return friction + (twice_kinetic / motion.twice_kinetic_target - 1) * motion.thermostat_rate;
}

GPUCAST_HD inline void kick(double& v, double force, const Motion& motion, int type, int axis) {
  v = motion.keep * v + motion.kick[type] * (force - motion.mean_force[axis]);
}

// The same motion under friction x.
GPUCAST_HD inline Motion with_friction(Motion motion, double x) {
  motion.keep = (1 - x) / (1 + x);
  motion.kick[0] /= 1 + x;
  motion.kick[1] /= 1 + x;
  return motion;
}

// Walls reverse a velocity that points outwards beyond them, and move nothing. In a periodic box
// the nearest image continues. There are no branches except the choice of the two, so that loops
// over this become vector instructions.
GPUCAST_HD inline void drift(double& r, double& v, const Motion& motion) {
  const double half_side = motion.half_side;
  r += motion.drift * v;
  if (motion.periodic) {
    r -= r > half_side ? 2 * half_side : 0.0;
    r += r < -half_side ? 2 * half_side : 0.0;
  } else {
    const bool outwards = ((r > half_side) & (v > 0)) | ((r < -half_side) & (v < 0));
    v = outwards ? -v : v;
  }
}

// The data that a device receives for the particle at r (angstrom).
GPUCAST_HD inline Position packed(const double* r, int type, double lambda_per_angstrom) {
  return {static_cast<float>(r[0] * lambda_per_angstrom),
          static_cast<float>(r[1] * lambda_per_angstrom),
          static_cast<float>(r[2] * lambda_per_angstrom), static_cast<float>(type)};
}

// A larger force means that two particles overlap: the Tosi-Fumi wall between ions is lower than
// 100 eV/angstrom, and behind it the attraction -C/r^6 - D/r^8 grows without bound. Larger forces
// would not fit into quanta either.
inline constexpr float largest_force = 1e3F;  // eV/angstrom

// False for NaN, too.
GPUCAST_HD inline bool sound(float force) {
  return force < largest_force && force > -largest_force;
}

}  // namespace gpucast::mdapp

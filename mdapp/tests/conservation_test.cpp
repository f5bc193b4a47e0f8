// Quantities that a run of some hundred steps conserves.

#include <cmath>

#include "common.h"
#include "physics/observables.h"

namespace gpucast::mdapp {
namespace {

double total_energy(Stepper& stepper) {
  return stepper.potential().energy + kinetic_energy(stepper.system());
}

struct Kept {
  double energy;    // largest change of the total energy, eV an ion
  double momentum;  // at the end, u angstrom a time_unit
};

Kept kept_by(System start, double dt) {
  const auto engine = host_engine(1);
  const int n = start.n();
  const auto stepper =
      make_stepper(*engine, std::move(start), {.dt = dt}, {.kernel = {.name = KernelName::tuned}});
  const double before = total_energy(*stepper);
  Kept kept{};
  for (int k = 0; k < 40; ++k) {
    stepper->steps(10);
    kept.energy = std::max(kept.energy, std::abs(total_energy(*stepper) - before) / n);
  }
  for (const double component : momentum(stepper->system()))
    kept.momentum = std::max(kept.momentum, std::abs(component));
  return kept;
}

System hot_crystal(const Surroundings& around) {
  System system = rock_salt(nacl(), 64, around);
  set_velocities(system, 1100, 3);
  return system;
}

// 400 steps of 1 fs at 1100 K. An ion's kinetic energy is 0.14 eV: the gain or loss is less than a
// thousandth of it.
TEST(Conservation, EnergyIsKeptInAnOpenBoxAndInAPeriodicCell) {
  EXPECT_LT(kept_by(hot_crystal({.kind = BoundaryKind::open}), 1e-15).energy, 2e-5);
  EXPECT_LT(kept_by(hot_crystal({.kind = BoundaryKind::dsf}), 1e-15).energy, 4e-5);
}

// The error of velocity Verlet goes with the square of the step.
TEST(Conservation, LongerStepsKeepLess) {
  const System start = hot_crystal({.kind = BoundaryKind::open});
  const double fine = kept_by(start, 1e-15).energy;
  const double coarse = kept_by(start, 4e-15).energy;
  EXPECT_GT(coarse, 4 * fine);
  EXPECT_LT(coarse, 2e-4);
}

// To the rounding of forces to float.
TEST(Conservation, MomentumIsKept) {
  EXPECT_LT(kept_by(hot_crystal({.kind = BoundaryKind::open}), 2e-15).momentum, 1e-4);
  EXPECT_LT(kept_by(hot_crystal({.kind = BoundaryKind::dsf}), 2e-15).momentum, 1e-4);
}

TEST(Conservation, TheThermostatHoldsTheTemperature) {
  for (const Schedule schedule : test::schedules) {
    const auto engine = host_engine(2);
    const auto stepper =
        make_stepper(*engine, hot_crystal({.kind = BoundaryKind::dsf}),
                     {.kind = IntegratorKind::nose_hoover, .dt = 2e-15, .temperature = 800},
                     {.name = schedule, .gpus = 2, .kernel = {.name = KernelName::tuned}});
    stepper->steps(500);
    double mean = 0;
    for (int k = 0; k < 100; ++k) {
      stepper->steps(10);
      mean += temperature(stepper->system()) / 100;
    }
    EXPECT_NEAR(mean, 800, 80) << name(schedule);
  }
}

}  // namespace
}  // namespace gpucast::mdapp

#include "physics/motion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "engine/engine.h"
#include "physics/exact_sum.h"
#include "physics/integrator.h"
#include "physics/start.h"
#include "physics/units.h"
#include "schedule/stepper.h"

namespace gpucast::mdapp {
namespace {

constexpr double half_side = 10;

TEST(Walls, TurnAVelocityThatPointsOutwardsAndMoveNothing) {
  double r = 9.9;
  double v = 1;
  drift_between_walls(r, v, 0.5, half_side);
  EXPECT_DOUBLE_EQ(r, 10.4);
  EXPECT_EQ(v, -1);
  r = -9.9;
  drift_between_walls(r, v, 0.5, half_side);
  EXPECT_DOUBLE_EQ(r, -10.4);
  EXPECT_EQ(v, 1);
}

TEST(Walls, LetAParticleBeyondThemComeBack) {
  double r = 10.4;
  double v = -0.2;
  drift_between_walls(r, v, 0.5, half_side);
  EXPECT_DOUBLE_EQ(r, 10.3);
  EXPECT_EQ(v, -0.2);
}

TEST(PeriodicCell, BringsAParticleInOnTheOtherSide) {
  double r = 9.9;
  drift_periodically(r, 1, 0.5, half_side);
  EXPECT_DOUBLE_EQ(r, -9.6);
  drift_periodically(r, -1, 0.5, half_side);
  EXPECT_DOUBLE_EQ(r, 9.9);
}

TEST(SoundForces, AreFiniteAndNoLargerThanBetweenIons) {
  EXPECT_TRUE(sound(-9e3F));
  EXPECT_FALSE(sound(2e4F));
  EXPECT_FALSE(sound(-INFINITY));
  EXPECT_FALSE(sound(NAN));
}

TEST(ExactSum, DoesNotDependOnTheOrder) {
  // The same every time. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> term(-100, 100);
  std::vector<double> terms(1000);
  for (double& x : terms)
    x = term(random);
  const auto sum = [&] {
    std::int64_t total = 0;
    for (const double x : terms)
      total += to_quanta(x);
    return total;
  };
  const std::int64_t first = sum();
  for (int trial = 0; trial < 10; ++trial) {
    std::ranges::shuffle(terms, random);
    EXPECT_EQ(sum(), first);
  }
  double plain = 0;
  for (const double x : terms)
    plain += x;
  EXPECT_NEAR(from_quanta(first), plain, 1e-6);
}

// ---- whole runs ----

std::unique_ptr<Stepper> stepper(Engine& engine, const System& system,
                                 const IntegratorOptions& options) {
  return make_stepper(engine, system, options, {.kernel = {.name = KernelName::tuned}});
}

System warm(int n, double temperature) {
  System system = rock_salt(nacl(), n);
  set_velocities(system, temperature, 1);
  return system;
}

TEST(Verlet, RunsBackTheWayItCame) {
  const auto engine = host_engine(1);
  const System start = warm(64, 1100);
  const auto there = stepper(*engine, start, {});
  there->steps(50);
  System turned = there->system();
  for (double& v : turned.v)
    v = -v;
  const auto back = stepper(*engine, turned, {});
  back->steps(50);
  const System end = back->system();
  for (std::size_t k = 0; k < start.r.size(); ++k) {
    EXPECT_NEAR(end.r[k], start.r[k], 1e-5);
    EXPECT_NEAR(end.v[k], -start.v[k], 1e-5);
  }
}

// Root mean square of the total energy about its mean over a picosecond, eV an ion.
double energy_noise(double dt) {
  const auto engine = host_engine(1);
  const auto run = stepper(*engine, warm(64, 1100), {.dt = dt});
  std::vector<double> energies;
  const int samples = 50;
  for (int sample = 0; sample < samples; ++sample) {
    run->steps(static_cast<int>(std::lround(20e-15 / dt)));
    energies.push_back((run->potential().energy + kinetic_energy(run->system())) / 64);
  }
  double mean = 0;
  for (const double energy : energies)
    mean += energy / samples;
  double squares = 0;
  for (const double energy : energies)
    squares += (energy - mean) * (energy - mean) / samples;
  return std::sqrt(squares);
}

TEST(Verlet, KeepsTheEnergyToSecondOrderInTheTimeStep) {
  const double at_2fs = energy_noise(2e-15);
  const double at_4fs = energy_noise(4e-15);
  EXPECT_LT(at_2fs, 3e-5);
  EXPECT_GT(at_4fs / at_2fs, 2.5);
  EXPECT_LT(at_4fs / at_2fs, 6);
}

TEST(Verlet, KeepsTheMomentum) {
  const auto engine = host_engine(1);
  const auto run = stepper(*engine, warm(216, 1100), {});
  run->steps(100);
  for (const double component : momentum(run->system()))
    EXPECT_NEAR(component, 0, 1e-4);
}

TEST(NoseHoover, BringsTheSystemToTheTemperature) {
  const auto engine = host_engine(1);
  const auto run =
      stepper(*engine, warm(216, 900), {.kind = IntegratorKind::nose_hoover, .temperature = 300});
  run->steps(500);
  double mean = 0;
  const int samples = 50;
  for (int sample = 0; sample < samples; ++sample) {
    run->steps(10);
    mean += temperature(run->system()) / samples;
  }
  EXPECT_NEAR(mean, 300, 30);
}

TEST(NoseHoover, StartsWithoutFrictionAndThenHasClarets) {
  System system = warm(8, 600);
  const IntegratorOptions options{.kind = IntegratorKind::nose_hoover, .temperature = 300};
  Integrator integrator(options, system, {0, 8});
  const std::vector<Force> none(8, Force{0, 0, 0});
  Reducer alone;
  const std::vector<double> v = system.v;
  integrator.start(none);
  integrator.after_forces(none, alone);
  EXPECT_EQ(system.v, v);
  // x = (T/T0 - 1) (h/tau)^2 / 2 = (2 - 1) 0.02^2 / 2.
  const double x = 2e-4;
  integrator.after_forces(none, alone);
  for (std::size_t k = 0; k < v.size(); ++k)
    EXPECT_NEAR(system.v[k], v[k] * (1 - x) / (1 + x), 1e-8);
}

}  // namespace
}  // namespace gpucast::mdapp

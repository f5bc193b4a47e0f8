#include <gtest/gtest.h>

#include <cmath>

#include "physics/observables.h"
#include "physics/system.h"

namespace gpucast::mdapp {
namespace {

System moving(int n, double kelvin, std::uint64_t seed) {
  System system = rock_salt(nacl(), n);
  set_velocities(system, kelvin, seed);
  return system;
}

TEST(Velocities, HaveExactlyTheTemperatureAskedFor) {
  for (const int n : {2, 7, 216, 997}) {
    EXPECT_NEAR(temperature(moving(n, 1100, 1)), 1100, 1100 * 1e-13) << n;
    EXPECT_NEAR(temperature(moving(n, 300, 2)), 300, 300 * 1e-13) << n;
  }
}

TEST(Velocities, HaveNoNetMomentum) {
  for (const int n : {2, 7, 216, 997}) {
    for (const double component : momentum(moving(n, 1100, 1)))
      EXPECT_NEAR(component, 0, 1e-10) << n;
  }
}

TEST(Velocities, AreTheSameForTheSameSeedAndOthersForAnother) {
  EXPECT_EQ(moving(216, 300, 1).v, moving(216, 300, 1).v);
  EXPECT_NE(moving(216, 300, 1).v, moving(216, 300, 2).v);
}

TEST(Velocities, AreNoneAtAbsoluteZero) {
  for (const double v : moving(27, 0, 1).v)
    EXPECT_EQ(v, 0);
}

// One particle has no velocity relative to its own centre of mass.
TEST(Velocities, OfASingleParticleAreNone) {
  for (const double v : moving(1, 300, 1).v)
    EXPECT_NEAR(v, 0, 1e-15);
}

// m <v^2> = k_B T in each direction for both ions, and a fourth moment of 3: a Gaussian.
TEST(Velocities, AreThoseOfMaxwellAndBoltzmann) {
  const System system = moving(8000, 1100, 1);
  const double thermal = system.salt.constants.boltzmann * 1100;
  double second[2] = {};
  double fourth = 0;
  for (int k = 0; k < system.n(); ++k) {
    for (std::size_t a = 0; a < 3; ++a) {
      const double v = system.v[3 * static_cast<std::size_t>(k) + a];
      const double reduced = system.mass(k) * v * v / thermal;
      second[system.type(k)] += reduced / (3 * 4000);
      fourth += reduced * reduced / (3 * 8000);
    }
  }
  // Five standard errors, sqrt(2/12000) and sqrt(96/24000).
  EXPECT_NEAR(second[0], 1, 0.065);
  EXPECT_NEAR(second[1], 1, 0.065);
  EXPECT_NEAR(fourth, 3, 0.32);
}

// With ions of one mass, velocities by the start's order depend on the seed alone.
TEST(Velocities, SortingDoesNotChangeWhoGetsWhat) {
  Salt salt = nacl();
  salt.mass = {30, 30};
  const std::vector<double> r(18);
  System mixed = from_positions(salt, {}, r, {1, 0, 1, 1, 0, 0});
  System sorted = from_positions(salt, {}, r, {0, 0, 0, 1, 1, 1});
  set_velocities(mixed, 300, 4);
  set_velocities(sorted, 300, 4);
  for (std::size_t k = 0; k < 6; ++k) {
    for (std::size_t a = 0; a < 3; ++a) {
      const auto original = static_cast<std::size_t>(mixed.origin[k]);
      EXPECT_NEAR(mixed.v[3 * k + a], sorted.v[3 * original + a], 1e-15);
    }
  }
}

}  // namespace
}  // namespace gpucast::mdapp

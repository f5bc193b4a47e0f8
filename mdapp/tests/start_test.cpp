#include "physics/start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "physics/observables.h"
#include "physics/overlap.h"

namespace gpucast::mdapp {
namespace {

TEST(RockSalt, IsNeutralButForOneIonWhereNIsOdd) {
  for (int n = 1; n <= 300; ++n) {
    const System system = rock_salt(nacl(), n);
    EXPECT_EQ(system.n(), n);
    EXPECT_EQ(std::abs(2 * system.cations - n), n % 2) << "n = " << n;
  }
}

TEST(RockSalt, IsSortedByTypeAndKnowsTheOrderOfTheStart) {
  const System system = rock_salt(nacl(), 997);
  EXPECT_TRUE(std::is_sorted(system.origin.begin(), system.origin.begin() + system.cations));
  EXPECT_TRUE(std::is_sorted(system.origin.begin() + system.cations, system.origin.end()));
  std::vector<int> all = system.origin;
  std::ranges::sort(all);
  std::vector<int> expected(997);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(RockSalt, HasNeighboursHalfALatticeConstantApart) {
  for (const int n : {8, 997, 1000}) {
    const System system = rock_salt(kcl(), n);
    EXPECT_NEAR(closest_pair(system).distance, system.salt.lattice_constant / 2, 1e-9);
  }
}

TEST(RockSalt, StandsInABoxFiveTimesAsWideIfOpenAndFillsAPeriodicOne) {
  const double side = 4 * nacl().lattice_constant;
  EXPECT_NEAR(rock_salt(nacl(), 512).boundary.side, 5 * side, 1e-9);
  EXPECT_NEAR(rock_salt(nacl(), 512, {.kind = BoundaryKind::minimum_image}).boundary.side, side,
              1e-9);
  const System dsf = rock_salt(nacl(), 512, {.kind = BoundaryKind::dsf});
  EXPECT_NEAR(dsf.boundary.cutoff, side / 2, 1e-9);
  EXPECT_NEAR(dsf.boundary.alpha, 0.2, 1e-12);
}

TEST(RockSalt, RefusesWhatCannotBe) {
  EXPECT_THROW(rock_salt(nacl(), 0), std::invalid_argument);
  EXPECT_THROW(rock_salt(nacl(), 64, {.kind = BoundaryKind::dsf, .cutoff = 1e-9}),
               std::invalid_argument);
}

TEST(Salts, AreKnownByName) {
  EXPECT_EQ(salt("NaCl").name, "NaCl");
  EXPECT_EQ(salt("KCl").name, "KCl");
  EXPECT_THROW(salt("CsCl"), std::invalid_argument);
}

TEST(Velocities, HaveTheTemperatureExactlyAndNoMomentum) {
  System system = rock_salt(nacl(), 997);
  set_velocities(system, 1100, 42);
  EXPECT_NEAR(temperature(system), 1100, 1e-9);
  for (const double component : momentum(system))
    EXPECT_NEAR(component, 0, 1e-10);
}

TEST(Velocities, AreTheSameForTheSameSeedOnly) {
  System a = rock_salt(nacl(), 64);
  System b = a;
  System c = a;
  set_velocities(a, 300, 1);
  set_velocities(b, 300, 1);
  set_velocities(c, 300, 2);
  EXPECT_EQ(a.v, b.v);
  EXPECT_NE(a.v, c.v);
}

TEST(Velocities, AreSharedOutEquallyBetweenTheIons) {
  System system = rock_salt(nacl(), 4096);
  set_velocities(system, 300, 3);
  double twice_kinetic[2] = {};
  for (int k = 0; k < system.n(); ++k) {
    for (std::size_t a = 0; a < 3; ++a) {
      const double v = system.v[3 * static_cast<std::size_t>(k) + a];
      twice_kinetic[system.type(k)] += system.mass(k) * v * v;
    }
  }
  EXPECT_NEAR(twice_kinetic[0] / twice_kinetic[1], 1, 0.1);
}

TEST(Velocities, OfASingleParticleAreZero) {
  System system = rock_salt(nacl(), 1);
  set_velocities(system, 300, 1);
  for (const double v : system.v)
    EXPECT_EQ(v, 0);
}

}  // namespace
}  // namespace gpucast::mdapp

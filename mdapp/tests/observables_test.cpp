
#include <limits>

#include "common.h"
#include "physics/observables.h"
#include "physics/pair.h"

namespace gpucast::mdapp {
namespace {

// Na (22.989768 u) at 1, Cl (35.4527 u) at 2 angstrom a unit of time, in a box of 10 angstrom:
// m v^2 adds up to 22.989768 + 4 x 35.4527 = 164.800568 eV.
System two_ions() {
  System system = from_positions(nacl(), {.side = 10}, {0, 0, 0, 3, 0, 0}, {0, 1});
  system.v = {1, 0, 0, 0, -2, 0};
  return system;
}

TEST(Observables, KineticEnergyIsHalfTheSumOfMassTimesSpeedSquared) {
  EXPECT_DOUBLE_EQ(kinetic_energy(two_ions()), 82.400284);
}

// Three degrees of freedom are left: T = 164.800568 eV / (3 x 8.617333262145179e-5 eV/K).
TEST(Observables, TheCentreOfMassDoesNotCountAsHeat) {
  EXPECT_NEAR(temperature(two_ions()), 637477.059, 0.001);
}

TEST(Observables, MomentumAddsUpMassTimesVelocity) {
  const auto sum = momentum(two_ions());
  EXPECT_DOUBLE_EQ(sum[0], 22.989768);
  EXPECT_DOUBLE_EQ(sum[1], -70.9054);
  EXPECT_EQ(sum[2], 0);
}

// (164.800568 - 14.800568) eV / (3 x 1000 angstrom^3) = 0.05 eV/angstrom^3 = 8.01088317 GPa.
TEST(Observables, PressureIsKineticPlusVirial) {
  EXPECT_NEAR(pressure(two_ions(), {.energy = 0, .virial = -14.800568}), 8.01088317e9, 1);
}

TEST(Observables, AnIdealGasHasThePressureOfItsHeat) {
  System system = rock_salt(nacl(), 1000);
  set_velocities(system, 300, 1);
  const double side = system.boundary.side * 1e-10;
  const double ideal = 999 * 1.380649e-23 * 300 / (side * side * side);  // Pa
  EXPECT_NEAR(pressure(system, {}), ideal, 1e-9 * ideal);
}

TEST(Observables, WhatDevicesReturnIsAddedUpInDouble) {
  const System system = two_ions();
  const std::vector<PairSums> sums = {{.energy = 1, .virial = 2}, {.energy = 1e-9F, .virial = -5}};
  const Potential potential = sum_of(system, sums);
  EXPECT_DOUBLE_EQ(potential.energy, 1 + static_cast<double>(1e-9F));
  EXPECT_DOUBLE_EQ(potential.virial, -3);
}

TEST(Observables, SelfEnergiesBelongToTheDampedShiftedForceAlone) {
  System system = two_ions();
  EXPECT_EQ(with_self_energy(system, {.energy = -7}).energy, -7);
  system.boundary = {.kind = BoundaryKind::dsf, .side = 20, .cutoff = 10, .alpha = 0.2};
  // -14.3996454784 (erfc(2)/20 + 0.2/sqrt(pi)) = -1.62819388 eV an ion.
  EXPECT_NEAR(with_self_energy(system, {.energy = -7}).energy, -7 - 2 * 1.62819388, 1e-7);
}

System random_system(int n, const Boundary& boundary, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> anywhere(-boundary.side / 2, boundary.side / 2);
  std::vector<double> r(3 * static_cast<std::size_t>(n));
  std::vector<int> type(static_cast<std::size_t>(n));
  for (double& x : r)
    x = anywhere(random);
  for (int& t : type)
    t = static_cast<int>(random() % 2);
  return from_positions(nacl(), boundary, r, type);
}

// Over all pairs and, in a periodic cell, all neighbouring images.
ClosestPair closest_of_all(const System& system) {
  const int reach = periodic(system.boundary.kind) ? 1 : 0;
  ClosestPair closest{.distance = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < system.n(); ++i) {
    for (int j = i + 1; j < system.n(); ++j) {
      double squared = 0;
      for (std::size_t a = 0; a < 3; ++a) {
        const double dx = system.r[3 * static_cast<std::size_t>(i) + a] -
                          system.r[3 * static_cast<std::size_t>(j) + a];
        double nearest = dx * dx;
        for (int image = -reach; image <= reach; ++image)
          nearest = std::min(nearest, std::pow(dx + image * system.boundary.side, 2));
        squared += nearest;
      }
      if (std::sqrt(squared) < closest.distance)
        closest = {.i = i, .j = j, .distance = std::sqrt(squared)};
    }
  }
  return closest;
}

TEST(ClosestPair, IsTheClosestOfAllPairs) {
  for (const BoundaryKind kind : {BoundaryKind::open, BoundaryKind::minimum_image}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const int n = 2 + static_cast<int>(seed);
      const System system = random_system(n, {.kind = kind, .side = 20}, seed);
      const ClosestPair pair = closest_pair(system);
      const ClosestPair expected = closest_of_all(system);
      EXPECT_EQ(pair.i, expected.i) << schema::name(kind) << " " << seed;
      EXPECT_EQ(pair.j, expected.j) << schema::name(kind) << " " << seed;
      EXPECT_NEAR(pair.distance, expected.distance, 1e-12);
    }
  }
}

TEST(ClosestPair, IsFoundAcrossEveryFaceOfThePeriodicCell) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<double> r = {0, 0, 0, 0, 0, 0, 3, 3, 3};
    r[axis] = 9.9;
    r[3 + axis] = -9.8;
    const Boundary cell{.kind = BoundaryKind::dsf, .side = 20, .cutoff = 10};
    EXPECT_NEAR(closest_pair(from_positions(nacl(), cell, r, {0, 0, 1})).distance, 0.3, 1e-12);
  }
}

TEST(ClosestPair, LeavesOutParticlesWhosePositionsAreNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const System system =
      from_positions(nacl(), {.side = 20}, {0, 0, 0, nan, 0, 0, 2, 0, 0, 3, 0, 0}, {0, 0, 0, 0});
  const ClosestPair pair = closest_pair(system);
  EXPECT_EQ(pair.i, 2);
  EXPECT_EQ(pair.j, 3);
}

TEST(Overlap, NamesThePairByItsNumberInTheStartAndItsIons) {
  const System system =
      from_positions(nacl(), {.side = 20}, {0, 0, 0, 5, 0, 0, 5.25, 0, 0, -5, 0, 0}, {1, 1, 0, 0});
  EXPECT_EQ(describe_overlap(system), "particles 3 (Na) and 2 (Cl) overlap: 0.25 angstrom apart");
}

TEST(Overlap, SaysSoWhenPositionsAreNoLongerFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const System system = from_positions(nacl(), {.side = 20}, {nan, 0, 0, 0, nan, 0}, {0, 1});
  EXPECT_TRUE(test::contains(describe_overlap(system), "no longer finite"));
}

}  // namespace
}  // namespace gpucast::mdapp

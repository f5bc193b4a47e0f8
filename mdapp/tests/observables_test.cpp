#include "physics/observables.h"

#include <gtest/gtest.h>

#include "physics/pair.h"
#include "physics/system.h"

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

}  // namespace
}  // namespace gpucast::mdapp

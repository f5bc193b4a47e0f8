// The damped shifted force.
#include <gtest/gtest.h>

#include <stdexcept>

#include "pair_point.h"
#include "physics/reference.h"
#include "physics/system.h"

namespace gpucast::mdapp {
namespace {

using test::pair_point;
using test::PairPoint;
using test::published_point;

const double R = 11;
const Boundary damped_cell{.kind = BoundaryKind::dsf, .side = 24, .cutoff = R, .alpha = 0.2};

// F(r) - F(R) and u(r) - u(R) + (r - R) F(R), of the damped formula written out.
TEST(Dsf, ShiftsForceAndEnergyOfTheDampedPair) {
  const auto& published = test::published_salts[0];
  const auto& units = test::unit_sets[0];
  for (const auto& [i, j] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 1)}) {
    const auto damped = [&, i = i, j = j](double r) {
      return published_point(published.between(i, j), published.rho, units, r, damped_cell.alpha);
    };
    const PairPoint at_cutoff = damped(R).value;
    for (const double r : {1.8, 2.5, 4.0, 7.0, 10.9}) {
      const auto [value, scale] = damped(r);
      const PairPoint point = pair_point(nacl(), damped_cell, i, j, r);
      EXPECT_NEAR(point.force, value.force - at_cutoff.force, 1e-12 * scale.force);
      EXPECT_NEAR(point.energy, value.energy - at_cutoff.energy + (r - R) * at_cutoff.force,
                  1e-12 * scale.energy + 1e-14);
    }
  }
}

TEST(Dsf, ForceAndEnergyGoToZeroAtTheCutOff) {
  for (const auto& [i, j] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 1)}) {
    for (const double before : {1e-2, 1e-4, 1e-6}) {
      const PairPoint point = pair_point(nacl(), damped_cell, i, j, R - before);
      // The force linearly, with a slope of some hundredths of an eV/angstrom^2; the energy
      // quadratically, down to rounding.
      EXPECT_LT(std::abs(point.force), 0.02 * before + 1e-14);
      EXPECT_LT(std::abs(point.energy), 0.02 * before * before + 1e-14);
    }
    const PairPoint beyond = pair_point(nacl(), damped_cell, i, j, R + 1e-9);
    EXPECT_EQ(beyond.force, 0);
    EXPECT_EQ(beyond.energy, 0);
  }
}

TEST(Dsf, ForcesOfTwoIonsAreOppositeAcrossTheCell) {
  const System pair = from_positions(nacl(), damped_cell, {11.5, 1, -3, -11, 2, -2}, {0, 1});
  const std::vector<double> force = reference_forces(pair).force;
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_NE(force[a], 0);
    EXPECT_DOUBLE_EQ(force[a], -force[3 + a]);
  }
}

// The crystal at the lattice constant where an Ewald sum with an 11 angstrom cut-off of the
// short-range part gives -8.0585 eV a pair.
double crystal_energy_a_pair(double cutoff, double alpha) {
  Salt salt = nacl();
  salt.lattice_constant = 5.619;
  const Surroundings around{.kind = BoundaryKind::dsf, .cutoff = cutoff, .alpha = alpha};
  const int n = 512;
  return 2 * reference_forces(rock_salt(salt, n, around), 2).potential.energy / n;
}

// At alpha = 0.2/angstrom what remains of the Coulomb force at the cut-off costs 20 meV. Damped
// more, only the shift of the dispersion is left: 0.1 meV for each of 62 pairs of chloride ions.
TEST(Dsf, CrystalEnergyIsNearThatOfEwaldSums) {
  EXPECT_NEAR(crystal_energy_a_pair(11e-10, 2e9), -8.0585, 0.03);
  EXPECT_NEAR(crystal_energy_a_pair(11e-10, 3e9), -8.0585, 0.01);
}

TEST(Dsf, ACutOffBeyondHalfTheSideIsRefused) {
  const Surroundings around{.kind = BoundaryKind::dsf, .cutoff = 6e-10};
  EXPECT_THROW(rock_salt(nacl(), 64, around), std::invalid_argument);
  EXPECT_NO_THROW(rock_salt(nacl(), 216, around));
}

TEST(Dsf, CutsOffAtHalfTheSideUnlessTold) {
  const System system = rock_salt(nacl(), 216, {.kind = BoundaryKind::dsf});
  EXPECT_EQ(system.boundary.cutoff, system.boundary.side / 2);
}

}  // namespace
}  // namespace gpucast::mdapp

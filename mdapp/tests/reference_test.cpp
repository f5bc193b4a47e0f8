#include "physics/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "app/force_error.h"
#include "physics/start.h"

namespace gpucast::mdapp {
namespace {

TEST(Reference, HasTheKnownEnergiesOfOpenLattices) {
  const struct {
    int n;
    double energy;  // eV an ion
  } known[] = {{8, -3.4366428}, {64, -3.7873841}, {512, -3.9131376}, {4096, -3.9656756}};
  for (const auto& [n, energy] : known) {
    const System lattice = rock_salt(nacl(), n);
    EXPECT_NEAR(reference_forces(lattice, 2).potential.energy / n, energy, 1e-7) << "n = " << n;
  }
}

TEST(Reference, HasNearlyTheEwaldEnergyOfACrystalWithDampedShiftedForces) {
  Salt salt = nacl();
  salt.lattice_constant = 5.619;  // angstrom
  const System crystal = rock_salt(salt, 512, {.kind = BoundaryKind::dsf});
  const double a_pair = reference_forces(crystal, 1).potential.energy / 256;
  EXPECT_NEAR(a_pair, -8.06, 0.08);
}

System displaced(const Salt& salt, int n, BoundaryKind kind) {
  System system = rock_salt(salt, n, {.kind = kind});
  displace(system, 0.4, 7);
  return system;
}

constexpr BoundaryKind all_kinds[] = {BoundaryKind::open, BoundaryKind::dsf,
                                      BoundaryKind::minimum_image};

TEST(Reference, ForcesAddUpToNothing) {
  for (const BoundaryKind kind : all_kinds) {
    const ReferenceForces result = reference_forces(displaced(kcl(), 216, kind), 1);
    double sum[3] = {};
    for (std::size_t k = 0; k < result.force.size(); ++k)
      sum[k % 3] += result.force[k];
    for (const double component : sum)
      EXPECT_NEAR(component, 0, 1e-10) << name(kind);
  }
}

TEST(Reference, ForceIsTheSlopeOfTheTotalEnergy) {
  for (const BoundaryKind kind : all_kinds) {
    const System system = displaced(nacl(), 64, kind);
    const ReferenceForces at = reference_forces(system, 1);
    constexpr double h = 1e-4;  // angstrom
    for (const std::size_t coordinate : {0U, 100U, 191U}) {
      System moved = system;
      moved.r[coordinate] += h;
      const double above = reference_forces(moved, 1).potential.energy;
      moved.r[coordinate] -= 2 * h;
      const double below = reference_forces(moved, 1).potential.energy;
      EXPECT_NEAR((below - above) / (2 * h), at.force[coordinate], 1e-5) << name(kind);
    }
  }
}

// d(energy)/d(scale) at scale 1 is minus the virial, if everything scales, the cut-off too.
TEST(Reference, VirialIsTheSlopeOfTheEnergyOverScale) {
  const System system = displaced(nacl(), 64, BoundaryKind::open);
  const auto energy_at = [&](double scale) {
    System scaled = system;
    for (double& x : scaled.r)
      x *= scale;
    return reference_forces(scaled, 1).potential.energy;
  };
  constexpr double h = 1e-4;
  EXPECT_NEAR((energy_at(1 - h) - energy_at(1 + h)) / (2 * h),
              reference_forces(system, 1).potential.virial, 1e-4);
}

TEST(Reference, DoesNotDependOnTheNumberOfThreads) {
  const System system = displaced(nacl(), 97, BoundaryKind::dsf);
  EXPECT_EQ(reference_forces(system, 1).force, reference_forces(system, 3).force);
}

}  // namespace
}  // namespace gpucast::mdapp

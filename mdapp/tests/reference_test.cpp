#include "physics/reference.h"

#include "common.h"
#include "physics/pair.h"

namespace gpucast::mdapp {
namespace {

using test::all_surroundings;
using test::shaken;

double energy_an_ion(int n) {
  return reference_forces(rock_salt(nacl(), n), 2).potential.energy / n;
}

// Measured with OpenMM's Reference platform.
TEST(Reference, OpenLatticesHaveTheKnownEnergies) {
  EXPECT_NEAR(energy_an_ion(8), -3.4366428, 1e-7 * 3.4366428);
  EXPECT_NEAR(energy_an_ion(64), -3.7873841, 1e-7 * 3.7873841);
  EXPECT_NEAR(energy_an_ion(512), -3.9131376, 1e-7 * 3.9131376);
  EXPECT_NEAR(energy_an_ion(4096), -3.9656756, 1e-7 * 3.9656756);
}

TEST(Reference, ForcesAreTheNegativeGradientOfTheEnergy) {
  for (const Surroundings& around : all_surroundings) {
    System system = shaken(kcl(), 27, around);
    const std::vector<double> force = reference_forces(system).force;
    for (const std::size_t k : {0U, 16U, 40U, 80U}) {
      const double x = system.r[k];
      const auto energy_at = [&](double moved) {
        system.r[k] = x + moved;
        return reference_forces(system).potential.energy;
      };
      const auto slope = [&](double h) { return (energy_at(h) - energy_at(-h)) / (2 * h); };
      const double h = 1e-3;
      EXPECT_NEAR(force[k], -(4 * slope(h / 2) - slope(h)) / 3, 1e-8)
          << schema::name(around.kind) << " " << k;
      system.r[k] = x;
    }
  }
}

// Under r -> s r the energy of an open system changes by -W ds/s.
TEST(Reference, TheVirialIsHowTheEnergyChangesWithSize) {
  const System system = shaken(nacl(), 64);
  const auto energy_at = [&](double scale) {
    System scaled = system;
    for (double& x : scaled.r)
      x *= scale;
    return reference_forces(scaled).potential.energy;
  };
  const auto slope = [&](double h) { return (energy_at(1 + h) - energy_at(1 - h)) / (2 * h); };
  const double h = 1e-3;
  const double virial = reference_forces(system).potential.virial;
  EXPECT_NEAR(virial, -(4 * slope(h / 2) - slope(h)) / 3, 1e-6 * std::abs(virial));
}

TEST(Reference, EnergiesOfParticlesAddUpToThatOfTheSystem) {
  for (const Surroundings& around : all_surroundings) {
    const System system = shaken(nacl(), 64, around);
    const ReferenceForces result = reference_forces(system);
    double sum = 64 * self_energy(system.salt, system.boundary);
    for (const double energy : result.energy)
      sum += energy;
    EXPECT_DOUBLE_EQ(result.potential.energy, sum);
  }
}

TEST(Reference, ThreadsChangeNoBit) {
  const System system = shaken(nacl(), 101);
  const ReferenceForces alone = reference_forces(system);
  for (const int threads : {2, 3, 7}) {
    const ReferenceForces shared = reference_forces(system, threads);
    EXPECT_EQ(shared.force, alone.force);
    EXPECT_EQ(shared.potential.energy, alone.potential.energy);
    EXPECT_EQ(shared.potential.virial, alone.potential.virial);
  }
}

TEST(Reference, RoundingPositionsToFloatMovesForcesLittle) {
  const System system = shaken(nacl(), 64);
  const std::vector<double> exact = reference_forces(system).force;
  const std::vector<double> rounded = reference_forces_at_float(system).force;
  EXPECT_NE(exact, rounded);
  for (std::size_t k = 0; k < exact.size(); ++k)
    EXPECT_NEAR(exact[k], rounded[k], 1e-4);
}

}  // namespace
}  // namespace gpucast::mdapp

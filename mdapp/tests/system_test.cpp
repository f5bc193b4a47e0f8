// Salts, start configurations, velocities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

TEST(Salt, ClaretsConstantsAreTheRoundedOnes) {
  EXPECT_EQ(nacl(ConstantSet::claret).constants.boltzmann, 8.617080363e-5);
}

// 4 ions of each kind in a cube of this side weigh what the melt's density says at 300 K.
TEST(Salt, TheLatticeHasTheDensityOfTheMelt) {
  const auto density = [](const Salt& salt) {  // g/cm^3
    const double side = salt.lattice_constant * 1e-8;
    return 4 * (salt.mass[0] + salt.mass[1]) * 1.66053906660e-24 / (side * side * side);
  };
  EXPECT_NEAR(density(nacl()), 2.1393 - 0.543e-3 * 300, 1e-4);
  EXPECT_NEAR(density(kcl()), 2.1359 - 0.5831e-3 * 300, 1e-10);
}

TEST(Salt, IsFoundByName) {
  EXPECT_EQ(salt("NaCl").symbol[0], "Na");
  EXPECT_EQ(salt("KCl").symbol[0], "K");
  EXPECT_THROW(salt("LiCl"), std::invalid_argument);
}

const std::array<int, 9> sizes = {1, 2, 7, 8, 9, 64, 100, 216, 997};

TEST(Start, IsNeutralToOneIonForAnyNumberOfIons) {
  for (const int n : sizes) {
    const System system = rock_salt(nacl(), n);
    const int anions = n - system.cations;
    EXPECT_EQ(system.n(), n);
    EXPECT_GE(system.cations, anions);
    EXPECT_LE(system.cations - anions, 1) << n;
    EXPECT_EQ(system.cations == anions, n % 2 == 0);
  }
}

TEST(Start, HasCationsFirst) {
  const System system = rock_salt(nacl(), 997);
  for (int k = 0; k < system.n(); ++k) {
    EXPECT_EQ(system.type(k), k < system.cations ? 0 : 1);
    EXPECT_EQ(system.mass(k), k < system.cations ? system.salt.mass[0] : system.salt.mass[1]);
  }
}

TEST(Start, RemembersWhereEachParticleStood) {
  for (const int n : sizes) {
    std::vector<int> origin = rock_salt(nacl(), n).origin;
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::sort(origin);
    EXPECT_EQ(origin, all);
  }
}

TEST(Start, NeighboursAreHalfALatticeConstantApartAndUnlike) {
  const System system = rock_salt(nacl(), 216);
  for (int i = 0; i < system.n(); ++i) {
    for (int j = 0; j < i; ++j) {
      const double* a = &system.r[3 * static_cast<std::size_t>(i)];
      const double* b = &system.r[3 * static_cast<std::size_t>(j)];
      const double distance = std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
      EXPECT_GT(distance, system.salt.lattice_constant / 2 - 1e-9);
      if (distance < system.salt.lattice_constant / 2 + 1e-9) {
        EXPECT_NE(system.type(i), system.type(j));
      }
    }
  }
}

TEST(Start, AFullCubeIsCentredAndAtRest) {
  const System system = rock_salt(nacl(), 512);
  EXPECT_NEAR(std::accumulate(system.r.begin(), system.r.end(), 0.0), 0, 1e-9);
  EXPECT_EQ(std::ranges::count(system.v, 0.0), 3 * 512);
}

TEST(Start, AnOpenBoxIsFiveLatticeSidesWide) {
  const double a = nacl().lattice_constant;
  EXPECT_DOUBLE_EQ(rock_salt(nacl(), 216).boundary.side, 5 * 3 * a);
  EXPECT_DOUBLE_EQ(rock_salt(nacl(), 217).boundary.side, 5 * 4 * a);
  EXPECT_DOUBLE_EQ(rock_salt(nacl(), 1).boundary.side, 5 * a);
}

TEST(Start, APeriodicBoxIsTheLattice) {
  const System system = rock_salt(nacl(), 216, {.kind = BoundaryKind::dsf});
  EXPECT_DOUBLE_EQ(system.boundary.side, 3 * nacl().lattice_constant);
  // Every ion sees the same: no force on any.
  for (const double component : reference_forces(system).force)
    EXPECT_NEAR(component, 0, 1e-12);
}

TEST(Start, NoParticlesAreRefused) {
  EXPECT_THROW(rock_salt(nacl(), 0), std::invalid_argument);
  EXPECT_THROW(rock_salt(nacl(), -8), std::invalid_argument);
}

TEST(Start, PositionsFromElsewhereAreSortedByType) {
  const System system = from_positions(nacl(), {}, {1, 1, 1, 2, 2, 2, 3, 3, 3}, {1, 0, 1});
  EXPECT_EQ(system.cations, 1);
  EXPECT_EQ(system.origin, (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(system.r, (std::vector<double>{2, 2, 2, 1, 1, 1, 3, 3, 3}));
  EXPECT_EQ(system.places(), (std::vector<std::size_t>{1, 0, 2}));
}

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
  for (const int n : {2, 7, 216, 997})
    for (const double component : momentum(moving(n, 1100, 1)))
      EXPECT_NEAR(component, 0, 1e-10) << n;
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

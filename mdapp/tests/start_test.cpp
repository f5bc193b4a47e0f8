#include "physics/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

const std::array<int, 9> sizes = {1, 2, 7, 8, 9, 64, 100, 216, 997};

// Coordinates in the order of the start configuration.
std::vector<double> in_original_order(const System& system, const std::vector<double>& values) {
  std::vector<double> result(values.size());
  for (std::size_t k = 0; k < system.origin.size(); ++k) {
    const auto from = values.begin() + 3 * static_cast<std::ptrdiff_t>(k);
    std::copy_n(from, 3, result.begin() + 3 * static_cast<std::ptrdiff_t>(system.origin[k]));
  }
  return result;
}

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
  EXPECT_EQ(in_original_order(system, system.r), (std::vector<double>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

}  // namespace
}  // namespace gpucast::mdapp

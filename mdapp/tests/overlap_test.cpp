#include "physics/observables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "contains.h"
#include "physics/system.h"

namespace gpucast::mdapp {
namespace {

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
      const ClosestPair found = closest_pair(system);
      const ClosestPair wanted = closest_of_all(system);
      EXPECT_EQ(found.i, wanted.i) << schema::name(kind) << " " << seed;
      EXPECT_EQ(found.j, wanted.j) << schema::name(kind) << " " << seed;
      EXPECT_NEAR(found.distance, wanted.distance, 1e-12);
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

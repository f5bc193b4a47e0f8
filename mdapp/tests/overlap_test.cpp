#include "physics/overlap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "contains.h"
#include "physics/start.h"

namespace gpucast::mdapp {
namespace {

ClosestPair by_brute_force(const System& system) {
  ClosestPair closest{.distance = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < system.n(); ++i) {
    for (int j = i + 1; j < system.n(); ++j) {
      double r2 = 0;
      for (std::size_t a = 0; a < 3; ++a) {
        double d = system.r[3 * static_cast<std::size_t>(i) + a] -
                   system.r[3 * static_cast<std::size_t>(j) + a];
        if (periodic(system.boundary.kind)) {
          d -= system.boundary.side * std::rint(d / system.boundary.side);
        }
        r2 += d * d;
      }
      if (std::sqrt(r2) < closest.distance) closest = {.i = i, .j = j, .distance = std::sqrt(r2)};
    }
  }
  return closest;
}

TEST(ClosestPair, IsThatOfBruteForceInRandomConfigurations) {
  // The same every time. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const auto kind = trial % 2 == 0 ? BoundaryKind::open : BoundaryKind::minimum_image;
    const int n = 2 + static_cast<int>(random() % 60);
    // Some are flat or thin, so that many share a coordinate.
    const double width[] = {10, trial % 3 == 0 ? 0.0 : 10, trial % 5 == 0 ? 0.1 : 10};
    std::vector<double> r;
    for (int k = 0; k < 3 * n; ++k) {
      std::uniform_real_distribution<double> anywhere(-width[k % 3] / 2, width[k % 3] / 2);
      r.push_back(anywhere(random));
    }
    std::vector<int> type(static_cast<std::size_t>(n), 0);
    const System system = from_positions(nacl(), {.kind = kind, .side = 10}, r, type);
    const ClosestPair expected = by_brute_force(system);
    const ClosestPair found = closest_pair(system);
    EXPECT_EQ(found.i, expected.i) << "trial " << trial;
    EXPECT_EQ(found.j, expected.j) << "trial " << trial;
    EXPECT_EQ(found.distance, expected.distance) << "trial " << trial;
  }
}

TEST(ClosestPair, LooksAroundThePeriodicCell) {
  const std::vector<double> r{-4.9, 0, 0, 4.9, 0, 0, 0, 0, 0};
  const System system =
      from_positions(nacl(), {.kind = BoundaryKind::dsf, .side = 10}, r, {0, 0, 0});
  const ClosestPair pair = closest_pair(system);
  EXPECT_EQ(pair.i, 0);
  EXPECT_EQ(pair.j, 1);
  EXPECT_NEAR(pair.distance, 0.2, 1e-12);
}

TEST(ClosestPair, LeavesOutParticlesThatAreNowhere) {
  const double nowhere = std::numeric_limits<double>::quiet_NaN();
  const System system = from_positions(nacl(), {}, {0, 0, 0, nowhere, 0, 0, 5, 0, 0}, {0, 0, 0});
  EXPECT_EQ(closest_pair(system).j, 2);
  const System lost = from_positions(nacl(), {}, {0, 0, 0, nowhere, 0, 0}, {0, 0});
  EXPECT_EQ(closest_pair(lost).j, -1);
  EXPECT_EQ(describe_overlap(lost), "positions are no longer finite");
}

TEST(DescribeOverlap, NamesThePairAsXyzFilesCountIt) {
  // Sorting by type puts the chlorine that comes first behind both sodiums.
  const System system = from_positions(nacl(), {}, {0, 0, 0, 9, 0, 0, 0.125, 0, 0}, {1, 0, 0});
  const std::string text = describe_overlap(system);
  EXPECT_TRUE(test::contains(text, "1 (Cl)"));
  EXPECT_TRUE(test::contains(text, "3 (Na)"));
  EXPECT_TRUE(test::contains(text, "0.125 angstrom"));
}

}  // namespace
}  // namespace gpucast::mdapp

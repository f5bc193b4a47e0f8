#include "physics/pair.h"

#include <gtest/gtest.h>

#include <string>

#include "pair_point.h"
#include "physics/motion.h"

namespace gpucast::mdapp {
namespace {

using test::pair_point;
using test::PairPoint;
using test::published_point;

const Boundary open_box{.kind = BoundaryKind::open, .side = 100};
const std::array<Boundary, 3> boundaries = {{
    open_box,
    {.kind = BoundaryKind::dsf, .side = 30, .cutoff = 15, .alpha = 0.2},
    {.kind = BoundaryKind::minimum_image, .side = 30},
}};
const std::array<double, 9> distances = {1.5, 2, 2.3, 2.8, 3.3, 4.1, 6, 9.5, 14};

// body(published salt, units, i, j) for both salts, both sets of constants, all three pairs.
template <class Body>
void each_pair(Body body) {
  for (const auto& published : test::published_salts) {
    for (const auto& units : test::unit_sets) {
      for (const auto& [i, j] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 1)}) {
        SCOPED_TRACE(std::string(published.name) + (units.set == ConstantSet::codata ? "" : "*") +
                     " " + std::to_string(i) + std::to_string(j));
        body(published, units, i, j);
      }
    }
  }
}

// Central differences at h, h/2 and h/4, extrapolated to h = 0 (Richardson): O(h^6).
template <class Function>
double derivative(Function function, double x) {
  const auto difference = [&](double h) { return (function(x + h) - function(x - h)) / (2 * h); };
  const double h = 0.01;
  const double first = (4 * difference(h / 2) - difference(h)) / 3;
  const double second = (4 * difference(h / 4) - difference(h / 2)) / 3;
  return (16 * second - first) / 15;
}

// Measured with OpenMM's Reference platform and LAMMPS.
TEST(Pair, HasTheKnownEnergiesAtThreeAngstrom) {
  EXPECT_NEAR(pair_point(nacl(), open_box, 0, 0, 3).energy, 4.83124547, 1e-8);
  EXPECT_NEAR(pair_point(nacl(), open_box, 0, 1, 3).energy, -4.71339466, 1e-8);
  EXPECT_NEAR(pair_point(nacl(), open_box, 1, 1, 3).energy, 4.94890192, 1e-8);
}

TEST(Pair, ADimerIsBoundAtTheKnownDistanceByTheKnownEnergy) {
  double near = 2;
  double far = 3;
  while (far - near > 1e-9) {
    const double middle = (near + far) / 2;
    (pair_point(nacl(), open_box, 0, 1, middle).force > 0 ? near : far) = middle;
  }
  EXPECT_NEAR(near, 2.28556, 5e-6);
  EXPECT_NEAR(pair_point(nacl(), open_box, 0, 1, near).energy, -5.43339, 5e-6);
}

TEST(Pair, IsThePublishedFormula) {
  each_pair([](const auto& published, const auto& units, int i, int j) {
    const Salt salt = mdapp::salt(published.name, units.set);
    for (const double r : distances) {
      const auto [wanted, scale] =
          published_point(published.between(i, j), published.rho, units, r);
      for (const Boundary& boundary : {boundaries[0], boundaries[2]}) {
        const PairPoint point = pair_point(salt, boundary, i, j, r);
        EXPECT_NEAR(point.energy, wanted.energy, 1e-12 * scale.energy) << r;
        EXPECT_NEAR(point.force, wanted.force, 1e-12 * scale.force) << r;
      }
    }
  });
}

TEST(Pair, UnlikeIonsInteractTheSameEitherWay) {
  for (const Boundary& boundary : boundaries) {
    EXPECT_EQ(pair_point(kcl(), boundary, 0, 1, 3).energy,
              pair_point(kcl(), boundary, 1, 0, 3).energy);
  }
}

TEST(Pair, ForceIsTheNegativeDerivativeOfTheEnergy) {
  each_pair([](const auto& published, const auto& units, int i, int j) {
    const Salt salt = mdapp::salt(published.name, units.set);
    for (const Boundary& boundary : boundaries) {
      const auto energy = [&](double x) { return pair_point(salt, boundary, i, j, x).energy; };
      for (const double r : distances) {
        const auto scale = published_point(published.between(i, j), published.rho, units, r).scale;
        EXPECT_NEAR(pair_point(salt, boundary, i, j, r).force, -derivative(energy, r),
                    1e-9 * scale.force)
            << schema::name(boundary.kind) << " " << r;
      }
    }
  });
}

// Where particles overlap is told by their forces (motion.h).
TEST(Pair, TheRepulsiveWallIsLowerThanAHundredElectronVoltsAnAngstrom) {
  each_pair([](const auto& published, const auto& units, int i, int j) {
    const Salt salt = mdapp::salt(published.name, units.set);
    double highest = 0;
    for (int k = 30; k < 300; ++k)
      highest = std::max(highest, pair_point(salt, open_box, i, j, k / 100.0).force);
    EXPECT_GT(highest, 10);
    EXPECT_LT(highest, 100);
    EXPECT_LT(pair_point(salt, open_box, i, j, 0.5).force, -largest_force);
  });
}

TEST(Pair, AddsItsEnergyToWhatWasThereBefore) {
  const auto field = force_field<double>(nacl(), open_box);
  const PairEnergy<double> before{.short_range = 3, .coulomb = -2};
  const auto value = [&](const PairEnergy<double>& so_far) {
    return pair_value<ExactMath, BoundaryKind::open, true>(100.0, field.pair[0][1], field.shared,
                                                           so_far)
        .energy;
  };
  EXPECT_DOUBLE_EQ(value(before).short_range, value({}).short_range + 3);
  EXPECT_DOUBLE_EQ(value(before).coulomb, value({}).coulomb - 2);
}

template <BoundaryKind kind>
void expect_the_same_force_without_energy(const Boundary& boundary) {
  const auto field = force_field<float>(nacl(), boundary);
  for (const float r2 : {50.0F, 200.0F, 1000.0F}) {
    const auto& pair = field.pair[1][1];
    const auto with = pair_value<ExactMath, kind, true>(r2, pair, field.shared);
    const auto without = pair_value<ExactMath, kind, false>(r2, pair, field.shared);
    EXPECT_EQ(with.force_over_r, without.force_over_r);
  }
}

TEST(Pair, ForcesAreTheSameWhetherEnergiesAreAskedForOrNot) {
  expect_the_same_force_without_energy<BoundaryKind::open>(boundaries[0]);
  expect_the_same_force_without_energy<BoundaryKind::dsf>(boundaries[1]);
  expect_the_same_force_without_energy<BoundaryKind::minimum_image>(boundaries[2]);
}

}  // namespace
}  // namespace gpucast::mdapp

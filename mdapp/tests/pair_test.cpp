#include "physics/pair.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace gpucast::mdapp {
namespace {

struct Value {
  double force;   // eV/angstrom, positive where the pair repels
  double energy;  // eV
};

template <BoundaryKind kind>
Value value(const ForceField<double>& field, int i, int j, double r) {
  const double lambda = field.shared.lambda;
  const double in_lambda = r / lambda;
  const auto pair = pair_value<ExactMath, kind, true>(in_lambda * in_lambda, field.pair[i][j],
                                                      field.shared, PairEnergy<double>{});
  return {.force = pair.force_over_r * in_lambda,
          .energy = (pair.energy.short_range + pair.energy.coulomb) * lambda};
}

Value open_value(const Salt& salt, int i, int j, double r) {
  return value<BoundaryKind::open>(force_field<double>(salt, {}), i, j, r);
}

constexpr Boundary dsf{.kind = BoundaryKind::dsf, .side = 24, .cutoff = 11, .alpha = 0.2};

TEST(Pair, HasTheKnownEnergiesOfSodiumChlorideAt3Angstrom) {
  const Salt salt = nacl();
  EXPECT_NEAR(open_value(salt, 0, 0, 3).energy, 4.83124547, 1e-8);
  EXPECT_NEAR(open_value(salt, 0, 1, 3).energy, -4.71339466, 1e-8);
  EXPECT_NEAR(open_value(salt, 1, 1, 3).energy, 4.94890192, 1e-8);
}

TEST(Pair, HasTheMinimumOfTheSodiumChlorideDimer) {
  double inside = 2;
  double outside = 3;
  while (outside - inside > 1e-12) {
    const double middle = (inside + outside) / 2;
    (open_value(nacl(), 0, 1, middle).force > 0 ? inside : outside) = middle;
  }
  EXPECT_NEAR(inside, 2.28556, 1e-5);
  EXPECT_NEAR(open_value(nacl(), 0, 1, inside).energy, -5.43339, 1e-5);
}

// -du/dr by central differences at h, h/2 and h/4, extrapolated to h = 0 (Richardson).
template <BoundaryKind kind>
double slope(const ForceField<double>& field, int i, int j, double r) {
  const auto central = [&](double h) {
    return (value<kind>(field, i, j, r - h).energy - value<kind>(field, i, j, r + h).energy) /
           (2 * h);
  };
  const double h = 4e-3;
  const std::array d{central(h), central(h / 2), central(h / 4)};
  const std::array once{(4 * d[1] - d[0]) / 3, (4 * d[2] - d[1]) / 3};
  return (16 * once[1] - once[0]) / 15;
}

template <BoundaryKind kind>
void expect_force_is_slope(const Salt& salt, const Boundary& boundary) {
  const auto field = force_field<double>(salt, boundary);
  for (const double r : {1.8, 2.3, 2.9, 3.6, 5.0, 7.7, 10.9}) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const double force = value<kind>(field, i, j, r).force;
        EXPECT_NEAR(slope<kind>(field, i, j, r), force, 1e-9 * std::max(std::abs(force), 0.1))
            << salt.name << " " << name(kind) << " pair " << i << j << " at " << r;
      }
    }
  }
}

TEST(Pair, ForceIsTheSlopeOfTheEnergy) {
  for (const auto set : {ConstantSet::codata, ConstantSet::claret}) {
    for (const Salt& salt : {nacl(set), kcl(set)}) {
      expect_force_is_slope<BoundaryKind::open>(salt, {});
      expect_force_is_slope<BoundaryKind::dsf>(salt, dsf);
      expect_force_is_slope<BoundaryKind::minimum_image>(
          salt, {.kind = BoundaryKind::minimum_image, .side = 24});
    }
  }
}

TEST(Pair, IsTheSameSeenFromEitherParticle) {
  for (const Salt& salt : {nacl(), kcl()}) {
    EXPECT_EQ(open_value(salt, 0, 1, 2.5).force, open_value(salt, 1, 0, 2.5).force);
    EXPECT_EQ(open_value(salt, 0, 1, 2.5).energy, open_value(salt, 1, 0, 2.5).energy);
  }
}

TEST(Pair, DampedShiftedForceEndsAtTheCutOffWithoutAJump) {
  const auto field = force_field<double>(nacl(), dsf);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const Value inside = value<BoundaryKind::dsf>(field, i, j, dsf.cutoff - 1e-7);
      EXPECT_NEAR(inside.force, 0, 1e-8);
      EXPECT_NEAR(inside.energy, 0, 1e-13);
      const Value outside = value<BoundaryKind::dsf>(field, i, j, dsf.cutoff + 1e-7);
      EXPECT_EQ(outside.force, 0);
      EXPECT_EQ(outside.energy, 0);
    }
  }
}

TEST(Pair, AtDistanceZeroIsNotANumber) {
  EXPECT_FALSE(std::isfinite(open_value(nacl(), 0, 1, 0).force));
}

TEST(ClaretConstants, DifferFromCodataInTheFourthDigit) {
  const double ratio = open_value(nacl(ConstantSet::claret), 0, 1, 30).energy /
                       open_value(nacl(ConstantSet::codata), 0, 1, 30).energy;
  EXPECT_NEAR(ratio, 14.39 / 14.3996454784255, 1e-6);
}

}  // namespace
}  // namespace gpucast::mdapp

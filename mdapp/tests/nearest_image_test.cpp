#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "physics/pair.h"
#include "physics/reference.h"
#include "physics/system.h"

namespace gpucast::mdapp {
namespace {

const double side = 17;
const Boundary cell{.kind = BoundaryKind::minimum_image, .side = side};

double nearest_of_all_images(double dx) {
  double nearest = dx;
  for (int image = -3; image <= 3; ++image) {
    const double moved = dx + image * side;
    if (std::abs(moved) < std::abs(nearest)) nearest = moved;
  }
  return nearest;
}

TEST(NearestImage, IsTheNearestOfAllImages) {
  const auto field = force_field<double>(nacl(), cell);
  const double lambda = field.shared.lambda;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> anywhere(-side / 2, side / 2);
  for (int trial = 0; trial < 1000; ++trial) {
    const double xi = anywhere(random);
    const double xj = anywhere(random);
    const double dx = lambda * separation<ExactMath, BoundaryKind::minimum_image>(
                                   xi / lambda, xj / lambda, field.shared);
    EXPECT_NEAR(dx, nearest_of_all_images(xi - xj), 1e-12);
  }
}

TEST(NearestImage, IsNotTakenInAnOpenBox) {
  const auto field = force_field<double>(nacl(), {.kind = BoundaryKind::open, .side = side});
  EXPECT_EQ((separation<ExactMath, BoundaryKind::open>(30.0, -30.0, field.shared)), 60.0);
}

TEST(NearestImage, IonsOnBothSidesOfAFaceInteractAcrossIt) {
  const System across = from_positions(nacl(), cell, {-8, 1, 2, 8, -1, 2}, {0, 1});
  const System beside = from_positions(nacl(), cell, {0.5, 1, 2, -0.5, -1, 2}, {0, 1});
  const ReferenceForces one = reference_forces(across);
  const ReferenceForces other = reference_forces(beside);
  EXPECT_NEAR(one.potential.energy, other.potential.energy, 1e-9);
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_NEAR(one.force[k], other.force[k], 1e-9);
}

}  // namespace
}  // namespace gpucast::mdapp

// The pair potential, against the formula as published.
#include <gtest/gtest.h>

#include <array>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "physics/motion.h"
#include "physics/pair.h"
#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

struct PairPoint {
  double energy;  // eV
  double force;   // -du/dr, eV/angstrom
};

template <BoundaryKind kind>
PairPoint pair_point(const ForceField<double>& field, int i, int j, double r) {
  const double reduced = r / field.shared.lambda;
  const auto value =
      pair_value<ExactMath, kind, true>(reduced * reduced, field.pair[i][j], field.shared);
  return {.energy = (value.energy.short_range + value.energy.coulomb) * field.shared.lambda,
          .force = value.force_over_r * reduced};
}

// Ions of types i and j, r angstrom apart.
PairPoint pair_point(const Salt& salt, const Boundary& boundary, int i, int j, double r) {
  const auto field = force_field<double>(salt, boundary);
  switch (boundary.kind) {
    case BoundaryKind::open:
      return pair_point<BoundaryKind::open>(field, i, j, r);
    case BoundaryKind::dsf:
      return pair_point<BoundaryKind::dsf>(field, i, j, r);
    case BoundaryKind::minimum_image:
      break;
  }
  return pair_point<BoundaryKind::minimum_image>(field, i, j, r);
}

// Fumi & Tosi's numbers in their units: C in 1e-79 J m^6, D in 1e-99 J m^8, lengths in angstrom.
struct PublishedPair {
  double pol;
  double sigma;
  double C;
  double D;
  int charges;  // z_i z_j
};

struct PublishedSalt {
  std::string_view name;
  double rho;
  std::array<std::array<PublishedPair, 2>, 2> pair;
  const PublishedPair& between(int i, int j) const {
    return pair.at(static_cast<std::size_t>(i)).at(static_cast<std::size_t>(j));
  }
};

const std::array<PublishedSalt, 2> published_salts = {{
    {.name = "NaCl",
     .rho = 0.317,
     .pair = {{{{{1.25, 2.340, 1.68, 0.8, 1}, {1.00, 2.755, 11.2, 13.9, -1}}},
               {{{1.00, 2.755, 11.2, 13.9, -1}, {0.75, 3.170, 116, 233, 1}}}}}},
    {.name = "KCl",
     .rho = 0.337,
     .pair = {{{{{1.25, 2.926, 24.3, 24, 1}, {1.00, 3.048, 48, 73, -1}}},
               {{{1.00, 3.048, 48, 73, -1}, {0.75, 3.170, 124.5, 250, 1}}}}}},
}};

struct Units {
  ConstantSet set;
  double joule;    // eV a joule
  double coulomb;  // e^2 / (4 pi eps0), eV angstrom
};

// eps0 of CODATA 2018; Claret's own numbers.
const std::array<Units, 2> unit_sets = {{
    {.set = ConstantSet::codata,
     .joule = 1 / 1.602176634e-19,
     .coulomb = 1.602176634e-19 / (4 * std::numbers::pi * 8.8541878128e-12) * 1e10},
    {.set = ConstantSet::claret, .joule = 1 / 1.60219e-19, .coulomb = 14.39},
}};

// u(r) = A exp((sigma - r)/rho) - C/r^6 - D/r^8 + q erfc(alpha r)/r, and its force; `scale` is the
// sum of its terms' sizes, which an error is relative to where they cancel.
struct PublishedPoint {
  PairPoint value;
  PairPoint scale;
};

PublishedPoint published_point(const PublishedPair& p, double rho, const Units& units, double r,
                               double alpha = 0) {
  const double repulsion = 0.338e-19 * p.pol * units.joule * std::exp((p.sigma - r) / rho);
  const double sixth = p.C * 1e-19 * units.joule / std::pow(r, 6);
  const double eighth = p.D * 1e-19 * units.joule / std::pow(r, 8);
  const double charge = p.charges * units.coulomb;
  const double damped = charge * std::erfc(alpha * r) / r;
  const double damped_slope = damped / r + charge * 2 * alpha / std::sqrt(std::numbers::pi) *
                                               std::exp(-alpha * alpha * r * r) / r;
  return {.value = {.energy = repulsion - sixth - eighth + damped,
                    .force = repulsion / rho - 6 * sixth / r - 8 * eighth / r + damped_slope},
          .scale = {
              .energy = repulsion + sixth + eighth + std::abs(damped),
              .force = repulsion / rho + 6 * sixth / r + 8 * eighth / r + std::abs(damped_slope)}};
}

const Boundary open_box{.kind = BoundaryKind::open, .side = 100};
const std::array<Boundary, 3> boundaries = {{
    open_box,
    {.kind = BoundaryKind::dsf, .side = 30, .cutoff = 15, .alpha = 0.2},
    {.kind = BoundaryKind::minimum_image, .side = 30},
}};
const std::array<double, 9> distances = {1.5, 2, 2.3, 2.8, 3.3, 4.1, 6, 9.5, 14};

// body(published salt, units, i, j) for both salts, both sets of constants, all pairs.
template <class Body>
void each_pair(Body body) {
  for (const auto& published : published_salts) {
    for (const auto& units : unit_sets) {
      for (const auto& [i, j] :
           {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)}) {
        SCOPED_TRACE(std::string(published.name) + (units.set == ConstantSet::codata ? "" : "*") +
                     " " + std::to_string(i) + std::to_string(j));
        body(published, units, i, j);
      }
    }
  }
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

// ---- the damped shifted force ----

const double R = 11;
const Boundary damped_cell{.kind = BoundaryKind::dsf, .side = 24, .cutoff = R, .alpha = 0.2};

// F(r) - F(R) and u(r) - u(R) + (r - R) F(R), of the damped formula written out.
TEST(Dsf, ShiftsForceAndEnergyOfTheDampedPair) {
  const auto& published = published_salts[0];
  const auto& units = unit_sets[0];
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

// At alpha = 0.2/angstrom what remains of the Coulomb force at the cut-off is off by 20 meV. Damped
// more, only the shift of the dispersion is left: 0.1 meV for each of 62 pairs of chloride ions.
TEST(Dsf, CrystalEnergyIsNearThatOfEwaldSums) {
  EXPECT_NEAR(crystal_energy_a_pair(11e-10, 2e9), -8.0585, 0.03);
  EXPECT_NEAR(crystal_energy_a_pair(11e-10, 3e9), -8.0585, 0.01);
}

TEST(Dsf, CutsOffAtHalfTheSideUnlessTold) {
  const System system = rock_salt(nacl(), 216, {.kind = BoundaryKind::dsf});
  EXPECT_EQ(system.boundary.cutoff, system.boundary.side / 2);
}

// ---- nearest images ----

const double cell_side = 17;
const Boundary cell{.kind = BoundaryKind::minimum_image, .side = cell_side};

double nearest_of_all_images(double dx) {
  double nearest = dx;
  for (int image = -3; image <= 3; ++image) {
    const double moved = dx + image * cell_side;
    if (std::abs(moved) < std::abs(nearest)) nearest = moved;
  }
  return nearest;
}

TEST(NearestImage, IsTheNearestOfAllImages) {
  const auto field = force_field<double>(nacl(), cell);
  const double lambda = field.shared.lambda;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> anywhere(-cell_side / 2, cell_side / 2);
  for (int trial = 0; trial < 1000; ++trial) {
    const double xi = anywhere(random);
    const double xj = anywhere(random);
    const double dx = lambda * separation<ExactMath, BoundaryKind::minimum_image>(
                                   xi / lambda, xj / lambda, field.shared);
    EXPECT_NEAR(dx, nearest_of_all_images(xi - xj), 1e-12);
  }
}

TEST(NearestImage, IsNotTakenInAnOpenBox) {
  const auto field = force_field<double>(nacl(), {.kind = BoundaryKind::open, .side = cell_side});
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

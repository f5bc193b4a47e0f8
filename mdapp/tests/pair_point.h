// The pair potential at a distance in angstrom, by physics/pair.h and by the formula as published.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "physics/pair.h"

namespace gpucast::mdapp::test {

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
inline PairPoint pair_point(const Salt& salt, const Boundary& boundary, int i, int j, double r) {
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

inline const std::array<PublishedSalt, 2> published_salts = {{
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
inline const std::array<Units, 2> unit_sets = {{
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

inline PublishedPoint published_point(const PublishedPair& p, double rho, const Units& units,
                                      double r, double alpha = 0) {
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

}  // namespace gpucast::mdapp::test

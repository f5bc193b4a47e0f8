// The pair potential: the only place where forces and energies of a pair are computed, on CPUs and
// GPUs, in double and in single precision.
//
//     u(r) = A exp((sigma - r)/rho) - C/r^6 - D/r^8 + q/r,      q = z_i z_j e^2 / (4 pi eps0)
//
// The force on i is F = -u'(r) (r_i - r_j)/r. What is computed is F/r, which multiplies r_i - r_j:
//
//     F/r = (E + q/r^2)/r - (6 C + 8 D/r^2)/r^8,      E = (A/rho) exp((sigma - r)/rho)
//
// Lengths are counted in units of lambda = rho ln 2, over which the repulsion halves (0.22 angstrom
// for NaCl), so that E = 2^(a - r) with a = log2(A/rho) + sigma/lambda, and a pair takes no
// instruction for the scale. The other constants take up powers of lambda, so that forces come out
// in eV/angstrom; energies come out divided by lambda. Positions are rounded to float in these
// units, once, when the host packs them.
//
// Periodic melts use the damped shifted force (Fennell & Gezelter, J. Chem. Phys. 124 (2006)
// 234104): q/r becomes q erfc(alpha r)/r, and from the force of the whole pair its value at the
// cut-off R is taken, from the energy the straight line that goes with it, so that both end at zero
// without a jump:
//
//     F_dsf(r) = F(r) - F(R),      u_dsf(r) = u(r) - u(R) + (r - R) F(R)
//
// Here the shift covers the short-range part too, which would otherwise jump at R.
#pragma once

#include <cstddef>

#include "physics/boundary.h"
#include "physics/math.h"
#include "physics/salt.h"

namespace gpucast::mdapp {

// Constants of one pair of ion types; eV/angstrom times powers of lambda.
template <class Real>
struct PairConstants {
  Real exponent;       // a
  Real six_C;          // 6 C / (angstrom lambda^7)
  Real eight_D;        // 8 D / (angstrom lambda^9)
  Real charge;         // q / (angstrom lambda^2)
  Real cutoff_force;   // F(R), eV/angstrom; 0 but for dsf
  Real cutoff_energy;  // u(R)/lambda, eV/angstrom; 0 but for dsf
};

// Constants that all pairs share; lengths in lambda.
template <class Real>
struct SharedConstants {
  Real lambda;  // angstrom
  Real side;    // of the periodic cell
  Real inverse_side;
  Real cutoff;  // R
  Real alpha;   // 1/lambda
};

template <class Real>
struct ForceField {
  PairConstants<Real> pair[2][2];
  SharedConstants<Real> shared;
};

// Divided by lambda, eV/angstrom. The two are summed separately: next to the large Coulomb energies
// of charges of the same sign, the tail of the dispersion would be lost by rounding.
template <class Real>
struct PairEnergy {
  Real short_range{};
  Real coulomb{};
};

template <class Real>
struct PairValue {
  Real force_over_r;        // F/r, eV/angstrom a lambda
  PairEnergy<Real> energy;  // added to what was there before; only where asked for
};

// `kind` chooses the form, `WithEnergy` whether the energy is computed and added to `so_far`; r2 in
// lambda^2. A pair at distance zero gives NaN: callers mask a particle's pair with itself.
template <class Math, BoundaryKind kind, bool WithEnergy, class Real, class Scalar>
GPUCAST_HD inline PairValue<Real> pair_value(Real r2, const PairConstants<Real>& pair,
                                             const SharedConstants<Scalar>& shared,
                                             const PairEnergy<Real>& so_far = {}) {
  const Real inverse_r = Math::rsqrt(r2);
  const Real repulsion = Math::exp2(Math::fma(-r2, inverse_r, pair.exponent));
  const Real inverse_r2 = inverse_r * inverse_r;
  const Real inverse_r4 = inverse_r2 * inverse_r2;
  const Real dispersion = Math::fma(pair.eight_D, inverse_r2, pair.six_C);

  PairValue<Real> value{};
  if constexpr (kind == BoundaryKind::dsf) {
    const Real r = r2 * inverse_r;
    const Real x = r * shared.alpha;
    const Real gauss = Math::exp2(x * x * Scalar(-log2_e));
    const Real damped = Math::erfc(x, gauss);
    // -d/dr of erfc(alpha r)/r is erfc(alpha r)/r^2 + (2 alpha/sqrt(pi)) exp(-alpha^2 r^2)/r.
    const Real slope =
        Math::fma(damped, inverse_r, gauss * (shared.alpha * Scalar(two_over_sqrt_pi)));
    const Real inverse_r7 = inverse_r4 * inverse_r2 * inverse_r;
    const Real force =
        Math::fma(-dispersion, inverse_r7, Math::fma(pair.charge, inverse_r * slope, repulsion)) -
        pair.cutoff_force;
    // The opposite comparison would count NaN as beyond, and particles at the same place would go
    // unnoticed.
    const auto beyond = r >= shared.cutoff;
    value.force_over_r = beyond ? Real() : force * inverse_r;
    if constexpr (WithEnergy) {
      const Real attraction =
          Math::fma(pair.eight_D * Scalar(0.125), inverse_r2, pair.six_C * Scalar(1.0 / 6));
      const Real short_range =
          Math::fma(-attraction, inverse_r4 * inverse_r2, repulsion * Scalar(log2_e));
      const Real coulomb = pair.charge * damped * inverse_r - pair.cutoff_energy +
                           (r - shared.cutoff) * pair.cutoff_force;
      value.energy.short_range = so_far.short_range + (beyond ? Real() : short_range);
      value.energy.coulomb = so_far.coulomb + (beyond ? Real() : coulomb);
    }
  } else {
    const Real repulsive_and_coulomb = Math::fma(pair.charge, inverse_r2, repulsion) * inverse_r;
    value.force_over_r = Math::fma(-dispersion, inverse_r4 * inverse_r4, repulsive_and_coulomb);
    if constexpr (WithEnergy) {
      const Real attraction =
          Math::fma(pair.eight_D * Scalar(0.125), inverse_r2, pair.six_C * Scalar(1.0 / 6));
      value.energy.short_range =
          Math::fma(-attraction, inverse_r4 * inverse_r2,
                    Math::fma(repulsion, Real() + Scalar(log2_e), so_far.short_range));
      value.energy.coulomb = Math::fma(pair.charge, inverse_r, so_far.coulomb);
    }
  }
  return value;
}

// r_i - r_j in one direction, directly or to the nearest image.
template <class Math, BoundaryKind kind, class Real, class Scalar>
GPUCAST_HD inline Real separation(Real xi, Real xj, const SharedConstants<Scalar>& shared) {
  const Real dx = xi - xj;
  if constexpr (kind == BoundaryKind::open) {
    return dx;
  } else {
    const Real images = Math::nearest_integer(dx, Real() + shared.inverse_side);
    return Math::fma(-(Real() + shared.side), images, dx);
  }
}

// rho ln 2, angstrom.
inline double decay_length(const Salt& salt) { return salt.rho / log2_e; }

// Combines the constants of a salt in double precision, then rounds each once.
template <class Real>
ForceField<Real> force_field(const Salt& salt, const Boundary& boundary) {
  const double lambda = decay_length(salt);
  const SharedConstants<double> shared{
      .lambda = lambda,
      .side = boundary.side / lambda,
      .inverse_side = periodic(boundary.kind) ? lambda / boundary.side : 0,
      .cutoff = boundary.cutoff / lambda,
      .alpha = boundary.alpha * lambda};
  ForceField<Real> rounded{};
  rounded.shared = {Real(shared.lambda), Real(shared.side), Real(shared.inverse_side),
                    Real(shared.cutoff), Real(shared.alpha)};
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      const TosiFumi& p = salt.pair[i][j];
      PairConstants<double> c{.exponent = std::log2(p.A / salt.rho) + p.sigma / lambda,
                              .six_C = 6 * p.C / std::pow(lambda, 7),
                              .eight_D = 8 * p.D / std::pow(lambda, 9),
                              .charge = p.charge / (lambda * lambda),
                              .cutoff_force = 0,
                              .cutoff_energy = 0};
      if (boundary.kind == BoundaryKind::dsf) {
        // With zero shifts and the cut-off just beyond, this is the unshifted pair.
        SharedConstants<double> beyond = shared;
        beyond.cutoff *= 1 + 1e-9;
        const auto at_cutoff = pair_value<ExactMath, BoundaryKind::dsf, true>(
            shared.cutoff * shared.cutoff, c, beyond);
        c.cutoff_force = at_cutoff.force_over_r * shared.cutoff;
        c.cutoff_energy = at_cutoff.energy.short_range + at_cutoff.energy.coulomb;
      }
      rounded.pair[i][j] = {Real(c.exponent), Real(c.six_C),        Real(c.eight_D),
                            Real(c.charge),   Real(c.cutoff_force), Real(c.cutoff_energy)};
    }
  }
  return rounded;
}

// The energy of each particle of charge z by itself under dsf, eV: the interaction with its own
// neutralizing image (Fennell & Gezelter, eq. 16); 0 otherwise. Charges are one elementary charge.
inline double self_energy(const Salt& salt, const Boundary& boundary) {
  if (boundary.kind != BoundaryKind::dsf) return 0;
  const double R = boundary.cutoff;
  return -salt.constants.coulomb *
         (std::erfc(boundary.alpha * R) / (2 * R) + boundary.alpha * two_over_sqrt_pi / 2);
}

}  // namespace gpucast::mdapp

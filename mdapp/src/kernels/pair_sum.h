// Sums over pairs: the input, innermost loop and output of every force kernel.
#pragma once

#include "physics/pair.h"
#include "physics/particle.h"

namespace gpucast::mdapp {

// Sums of many floats that cancel: particles are sorted by type, so that the force of all cations
// is summed before that of the anions cancels most of it. Chunks are summed plainly, and their sums
// with compensation (Kahan, CACM 8 (1965) 40).
inline constexpr int chunk = 64;  // particles j

// Real: float, or several floats for as many particles.
template <class Real>
struct Compensated {
  Real sum{};
  Real lost{};  // the excess of `sum` from rounding

  GPUCAST_HD inline void add(Real value) {
    const Real corrected = value - lost;
    const Real next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
};

// All sums of a particle; energy and virial over lambda.
template <class Real, bool with_sums>
struct PairTotals {
  Real x{}, y{}, z{};
};

template <class Real>
struct PairTotals<Real, true> : PairTotals<Real, false> {
  Real virial{};
  PairEnergy<Real> energy;
};

template <class Real, bool with_sums>
struct Totals {
  Compensated<Real> x, y, z;
  GPUCAST_HD inline void add(const PairTotals<Real, with_sums>& part) {
    x.add(part.x);
    y.add(part.y);
    z.add(part.z);
  }
};

template <class Real>
struct Totals<Real, true> : Totals<Real, false> {
  Compensated<Real> short_range, coulomb, virial;
  GPUCAST_HD inline void add(const PairTotals<Real, true>& part) {
    Totals<Real, false>::add(part);
    short_range.add(part.energy.short_range);
    coulomb.add(part.energy.coulomb);
    virial.add(part.virial);
  }
};

// Adds one pair to the sums of particle i. `self` (a condition, or one per lane): the pair of a
// particle with itself, which does not count. It is checked only if it may be true.
template <class Math, BoundaryKind kind, bool with_sums, bool may_be_self, class Real, class Self>
GPUCAST_HD inline void add_pair(PairTotals<Real, with_sums>& total, Real xi, Real yi, Real zi,
                                Real xj, Real yj, Real zj, const PairConstants<Real>& pair,
                                const SharedConstants<float>& shared, Self self) {
  const Real dx = separation<Math, kind>(xi, xj, shared);
  const Real dy = separation<Math, kind>(yi, yj, shared);
  const Real dz = separation<Math, kind>(zi, zj, shared);
  const Real r2 = Math::fma(dz, dz, Math::fma(dy, dy, dx * dx));
  PairEnergy<Real> so_far;
  if constexpr (with_sums) so_far = total.energy;
  PairValue<Real> value = pair_value<Math, kind, with_sums>(r2, pair, shared, so_far);
  if constexpr (may_be_self) {
    value.force_over_r = self ? Real{} : value.force_over_r;
    if constexpr (with_sums) {
      value.energy.short_range = self ? so_far.short_range : value.energy.short_range;
      value.energy.coulomb = self ? so_far.coulomb : value.energy.coulomb;
    }
  }
  total.x = Math::fma(value.force_over_r, dx, total.x);
  total.y = Math::fma(value.force_over_r, dy, total.y);
  total.z = Math::fma(value.force_over_r, dz, total.z);
  if constexpr (with_sums) {
    total.energy = value.energy;
    // In an open box the virial is the sum of r_i . F_i over particles, which needs no pairs.
    if constexpr (kind != BoundaryKind::open)
      total.virial = Math::fma(value.force_over_r, r2, total.virial);
  }
}

// A particle's contribution to the virial, from half of its pairs', or from its own position and
// force.
template <BoundaryKind kind, class Real>
GPUCAST_HD inline Real virial_of(Real half_of_pairs, Real x, Real y, Real z, Real fx, Real fy,
                                 Real fz, Real lambda) {
  if constexpr (kind == BoundaryKind::open)
    return (x * fx + y * fy + z * fz) * lambda;
  else
    return half_of_pairs;
}

// The input and output of a force kernel, in the memory of the device that it runs on.
struct ForceArguments {
  const Position* positions = nullptr;  // of all n
  Force* forces = nullptr;              // of the slice
  PairSums* sums = nullptr;             // of the slice; nullptr if no energies are requested
  int n = 0;
  int cations = 0;
  Slice slice;
  ForceField<float> field{};
  BoundaryKind boundary = BoundaryKind::open;
  // For the GPU's tuned with a j split: partial sums [split][component][particle of the slice], and
  // the number of arrived splits per block of particles (0 before and after).
  double* partial = nullptr;
  unsigned* arrived = nullptr;
};

// Writes the sums of the particle at `me`, which is number `own` of the slice.
template <BoundaryKind kind, bool with_sums>
GPUCAST_HD inline void write_totals(const ForceArguments& a, int own, const Position& me,
                                    const Totals<float, with_sums>& total) {
  a.forces[own] = {total.x.sum, total.y.sum, total.z.sum};
  if constexpr (with_sums) {
    const float half = a.field.shared.lambda / 2;
    a.sums[own] = {(total.short_range.sum + total.coulomb.sum) * half,
                   virial_of<kind>(total.virial.sum * half, me.x, me.y, me.z, total.x.sum,
                                   total.y.sum, total.z.sum, a.field.shared.lambda)};
  }
}

}  // namespace gpucast::mdapp

// One pair, added to the sums of particle i: what every force kernel does in its innermost loop.
#pragma once

#include "kernels/accumulate.h"
#include "physics/pair.h"

namespace gpucast::mdapp {

// `self` (a condition, or one for each of several particles i): the pair of a particle with itself,
// which counts nothing. Only looked at where it may be.
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
    // In an open box the virial is the sum of r_i . F_i over particles, for which no pair is
    // needed.
    if constexpr (kind != BoundaryKind::open) {
      total.virial = Math::fma(value.force_over_r, r2, total.virial);
    }
  }
}

// What a particle contributes to the virial, from its half of those of its pairs, or from its own
// place and force.
template <BoundaryKind kind, class Real>
GPUCAST_HD inline Real virial_of(Real half_of_pairs, Real x, Real y, Real z, Real fx, Real fy,
                                 Real fz, Real lambda) {
  if constexpr (kind == BoundaryKind::open) {
    return (x * fx + y * fy + z * fz) * lambda;
  } else {
    return half_of_pairs;
  }
}

}  // namespace gpucast::mdapp

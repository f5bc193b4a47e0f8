// One pair, added to the sums of particle i: what both force kernels do in their innermost loop.
#pragma once

#include "kernels/cuda/accumulate.cuh"
#include "physics/pair.h"
#include "physics/particle.h"

namespace gpucast::mdapp::cuda {

// `self`: the pair of a particle with itself, which counts nothing.
template <class Math, BoundaryKind kind, bool with_sums, bool may_be_self>
__device__ __forceinline__ void add_pair(PairTotals<with_sums>& total, float xi, float yi, float zi,
                                         const Position& j, const PairConstants<float>& pair,
                                         const SharedConstants<float>& shared, bool self) {
  const float dx = separation<Math, kind>(xi, j.x, shared);
  const float dy = separation<Math, kind>(yi, j.y, shared);
  const float dz = separation<Math, kind>(zi, j.z, shared);
  const float r2 = __fmaf_rn(dz, dz, __fmaf_rn(dy, dy, dx * dx));
  float so_far = 0;
  if constexpr (with_sums) so_far = total.energy;
  PairValue<float> value = pair_value<Math, kind, with_sums>(r2, pair, shared, so_far);
  if constexpr (may_be_self) {
    value.force_over_r = self ? 0.0F : value.force_over_r;
    if constexpr (with_sums) value.energy_over_lambda = self ? so_far : value.energy_over_lambda;
  }
  total.x = __fmaf_rn(value.force_over_r, dx, total.x);
  total.y = __fmaf_rn(value.force_over_r, dy, total.y);
  total.z = __fmaf_rn(value.force_over_r, dz, total.z);
  if constexpr (with_sums) {
    total.energy = value.energy_over_lambda;
    total.virial = __fmaf_rn(value.force_over_r, r2, total.virial);
  }
}

}  // namespace gpucast::mdapp::cuda

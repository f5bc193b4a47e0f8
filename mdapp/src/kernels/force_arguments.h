// What a force kernel reads and writes, in the memory of the device that it runs on.
#pragma once

#include "kernels/pair_sum.h"
#include "physics/boundary.h"
#include "physics/pair.h"
#include "physics/particle.h"

namespace gpucast::mdapp {

struct ForceArguments {
  const Position* positions = nullptr;  // of all n
  Force* forces = nullptr;              // of the slice
  PairSums* sums = nullptr;             // of the slice; nullptr where no energies are asked for
  int n = 0;
  int cations = 0;
  Slice slice;
  ForceField<float> field{};
  BoundaryKind boundary = BoundaryKind::open;
  // The GPU's tuned with a j split: partial sums [split][component][particle of the slice] and how
  // many splits of a block of particles have arrived (0 before and after).
  double* partial = nullptr;
  unsigned* arrived = nullptr;
};

// Writes what was summed for the particle at `me`, which is the slice's number `own`.
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

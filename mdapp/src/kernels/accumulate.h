// Sums of many floats that cancel: particles are sorted by type, so that the force of all cations
// is summed before that of the anions takes most of it away again. Chunks are summed plainly, and
// their sums with compensation (Kahan, CACM 8 (1965) 40).
#pragma once

#include "physics/pair.h"
#include "physics/portable.h"

namespace gpucast::mdapp {

// Particles j whose contributions are added plainly.
inline constexpr int chunk = 64;

// Real: float, or several floats of as many particles.
template <class Real>
struct Compensated {
  Real sum{};
  Real lost{};  // what rounding has added to `sum` too much

  GPUCAST_HD inline void add(Real value) {
    const Real corrected = value - lost;
    const Real next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
};

// Everything that is summed for a particle; energy and virial over lambda.
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

}  // namespace gpucast::mdapp

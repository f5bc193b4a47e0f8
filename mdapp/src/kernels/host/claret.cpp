#include "kernels/host/host_kernels.h"
#include "kernels/pair_sum.h"

namespace gpucast::mdapp::host {
namespace {

template <BoundaryKind kind, bool with_sums>
void run(const ForceArguments& a) {
  for (int own = 0; own < a.slice.count; ++own) {
    const int i = a.slice.first + own;
    const Position me = a.positions[i];
    const int type = i < a.cations ? 0 : 1;
    Totals<float, with_sums> total;
    for (int begin = 0; begin < a.n; begin += chunk) {
      const int end = begin + chunk < a.n ? begin + chunk : a.n;
      PairTotals<float, with_sums> part;
      for (int j = begin; j < end; ++j) {
        const Position other = a.positions[j];
        add_pair<PlainMath, kind, with_sums, true>(
            part, me.x, me.y, me.z, other.x, other.y, other.z,
            a.field.pair[type][j < a.cations ? 0 : 1], a.field.shared, j == i);
      }
      total.add(part);
    }
    a.forces[own] = {total.x.sum, total.y.sum, total.z.sum};
    if constexpr (with_sums) {
      const float half = a.field.shared.lambda / 2;
      a.sums[own] = {(total.short_range.sum + total.coulomb.sum) * half,
                     virial_of<kind>(total.virial.sum * half, me.x, me.y, me.z, total.x.sum,
                                     total.y.sum, total.z.sum, a.field.shared.lambda)};
    }
  }
}

template <BoundaryKind kind>
void run(const ForceArguments& a) {
  if (a.sums != nullptr) {
    run<kind, true>(a);
  } else {
    run<kind, false>(a);
  }
}

}  // namespace

void claret(const ForceArguments& a) {
  switch (a.boundary) {
    case BoundaryKind::open:
      return run<BoundaryKind::open>(a);
    case BoundaryKind::dsf:
      return run<BoundaryKind::dsf>(a);
    case BoundaryKind::minimum_image:
      return run<BoundaryKind::minimum_image>(a);
  }
}

}  // namespace gpucast::mdapp::host

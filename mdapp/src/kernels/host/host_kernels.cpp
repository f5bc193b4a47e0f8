#include "kernels/host/host_kernels.h"
#include "kernels/host/vector_kernel.h"

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
    write_totals<kind>(a, own, me, total);
  }
}

}  // namespace

void claret(const ForceArguments& a) {
  dispatch(a.boundary, a.sums != nullptr,
           [&]<BoundaryKind kind, bool with_sums> { run<kind, with_sums>(a); });
}

std::vector<InstructionSet> instruction_sets() {
#ifdef __x86_64__
  std::vector<InstructionSet> sets;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    sets.push_back({"AVX-512", tuned_avx512});
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets.push_back({"AVX2", tuned_avx2});
  sets.push_back({"SSE2", tuned_sse2});
  return sets;
#else
  return {{"generic", tuned_generic}};
#endif
}

void tuned(const ForceArguments& arguments) {
  static const InstructionSet best = instruction_sets().front();
  best.tuned(arguments);
}

}  // namespace gpucast::mdapp::host

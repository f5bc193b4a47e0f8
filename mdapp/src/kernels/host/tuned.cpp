// Which of the sources for instruction sets runs here.
#include "kernels/host/vector_kernel.h"

namespace gpucast::mdapp::host {

std::vector<InstructionSet> instruction_sets() {
#ifdef __x86_64__
  std::vector<InstructionSet> sets;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    sets.push_back({"AVX-512", tuned_avx512});
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    sets.push_back({"AVX2", tuned_avx2});
  }
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

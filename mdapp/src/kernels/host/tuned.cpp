// Which of the sources for instruction sets runs here.
#include "kernels/host/vector_kernel.h"

namespace gpucast::mdapp::host {
namespace {

struct Choice {
  const char* name;
  void (*run)(const ForceArguments&);
};

Choice choose() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    return {"AVX-512", tuned_avx512};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {"AVX2", tuned_avx2};
  return {"SSE2", tuned_sse2};
#else
  return {"generic", tuned_generic};
#endif
}

}  // namespace

void tuned(const ForceArguments& arguments) { choose().run(arguments); }

const char* instruction_set() { return choose().name; }

}  // namespace gpucast::mdapp::host

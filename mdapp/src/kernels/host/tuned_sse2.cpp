#include <immintrin.h>

#include "kernels/host/vector_kernel.h"

namespace gpucast::mdapp::host {
namespace {

struct Isa {
  using Float __attribute__((vector_size(16))) = float;
  using Int __attribute__((vector_size(16))) = int;

  GPUCAST_HD static inline Float fma(Float a, Float b, Float c) { return a * b + c; }
  GPUCAST_HD static inline Float max(Float a, Float b) { return _mm_max_ps(a, b); }
  GPUCAST_HD static inline Float rsqrt_estimate(Float x) { return _mm_rsqrt_ps(x); }
};

}  // namespace

void tuned_sse2(const ForceArguments& arguments) { vector_forces<Isa>(arguments); }

}  // namespace gpucast::mdapp::host

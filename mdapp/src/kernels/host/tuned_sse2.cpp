#include <immintrin.h>

#include "kernels/host/vector_kernel.h"

namespace gpucast::mdapp::host {
namespace {

struct Isa {
  using Float __attribute__((vector_size(16))) = float;
  using Int __attribute__((vector_size(16))) = int;

  GPUCAST_HD static inline Float rsqrt_estimate(Float x) {
    return reinterpret_cast<Float>(_mm_rsqrt_ps(reinterpret_cast<__m128>(x)));
  }
};

}  // namespace

void tuned_sse2(const ForceArguments& arguments) { vector_forces<Isa>(arguments); }

}  // namespace gpucast::mdapp::host

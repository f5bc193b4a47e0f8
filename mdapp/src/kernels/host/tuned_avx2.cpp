#include <immintrin.h>

#include "kernels/host/vector_kernel.h"

namespace gpucast::mdapp::host {
namespace {

struct Isa {
  using Float __attribute__((vector_size(32))) = float;
  using Int __attribute__((vector_size(32))) = int;

  GPUCAST_HD static inline Float rsqrt_estimate(Float x) {
    return reinterpret_cast<Float>(_mm256_rsqrt_ps(reinterpret_cast<__m256>(x)));
  }
};

}  // namespace

void tuned_avx2(const ForceArguments& arguments) { vector_forces<Isa>(arguments); }

}  // namespace gpucast::mdapp::host

#include <immintrin.h>

#include "kernels/host/vector_kernel.h"

namespace gpucast::mdapp::host {
namespace {

struct Isa {
  using Float __attribute__((vector_size(64))) = float;
  using Int __attribute__((vector_size(64))) = int;

  GPUCAST_HD static inline Float rsqrt_estimate(Float x) {
    return reinterpret_cast<Float>(_mm512_rsqrt14_ps(reinterpret_cast<__m512>(x)));
  }
};

}  // namespace

void tuned_avx512(const ForceArguments& arguments) { vector_forces<Isa>(arguments); }

}  // namespace gpucast::mdapp::host

// For processors without a source of their own: vectors as the compiler makes them, IEEE square
// root and division.
#include <cmath>

#include "kernels/host/vector_kernel.h"

namespace gpucast::mdapp::host {
namespace {

struct Isa {
  using Float __attribute__((vector_size(16))) = float;
  using Int __attribute__((vector_size(16))) = int;

  GPUCAST_HD static inline Float fma(Float a, Float b, Float c) { return a * b + c; }
  GPUCAST_HD static inline Float max(Float a, Float b) { return a > b ? a : b; }
  GPUCAST_HD static inline Float rsqrt_estimate(Float x) {
    Float y{};
    for (int lane = 0; lane < 4; ++lane)
      y[lane] = 1.0F / std::sqrt(x[lane]);
    return y;
  }
};

}  // namespace

void tuned_generic(const ForceArguments& arguments) { vector_forces<Isa>(arguments); }

}  // namespace gpucast::mdapp::host

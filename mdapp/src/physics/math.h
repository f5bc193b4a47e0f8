// Elementary functions as a policy of the pair potential: exact here, approximate in kernels with
// their own policies.
#pragma once

#include <cmath>

// Code that the host compiler and nvcc both compile.
#ifdef __CUDACC__
#define GPUCAST_HD __host__ __device__
#else
// Always inlined on the host: kernels are compiled for several instruction sets, and the linker
// must not choose among versions of a function.
#define GPUCAST_HD __attribute__((always_inline))
#endif

namespace gpucast::mdapp {

// The C++ library's functions, correctly rounded or nearly so.
struct ExactMath {
  template <class Real>
  GPUCAST_HD static Real fma(Real a, Real b, Real c) {
    return std::fma(a, b, c);
  }
  template <class Real>
  GPUCAST_HD static Real rsqrt(Real x) {
    return Real(1) / std::sqrt(x);
  }
  template <class Real>
  GPUCAST_HD static Real exp2(Real x) {
    return std::exp2(x);
  }
  // exp(-x^2) is known wherever erfc is needed; approximations of erfc use it.
  template <class Real>
  GPUCAST_HD static Real erfc(Real x, Real /*exp_minus_x2*/) {
    return std::erfc(x);
  }
  template <class Real>
  GPUCAST_HD static Real nearest_integer(Real x, Real factor) {
    return std::rint(x * factor);
  }
};

// The same with a multiplication and an addition instead of the fused one: if a build cannot rely
// on that instruction, std::fma is a call that takes longer than the rest of a pair.
struct PlainMath : ExactMath {
  template <class Real>
  GPUCAST_HD static Real fma(Real a, Real b, Real c) {
    return a * b + c;
  }
};

// The same number in every lane if Real is a vector type, and the number itself otherwise. (x - 0
// is x and takes no time; 0 + x would change -0 to 0.)
template <class Real>
GPUCAST_HD inline Real splat(float x) {
  return x - Real();
}

// erfc(x) for x >= 0 from exp(-x^2) and t = 1 / (1 + 0.3275911 x): absolute error at most 1.5e-7
// (Abramowitz & Stegun 7.1.26).
template <class Math, class Real>
GPUCAST_HD inline Real approximate_erfc(Real t, Real exp_minus_x2) {
  Real p = Math::fma(t, splat<Real>(1.061405429F), splat<Real>(-1.453152027F));
  p = Math::fma(t, p, splat<Real>(1.421413741F));
  p = Math::fma(t, p, splat<Real>(-0.284496736F));
  p = Math::fma(t, p, splat<Real>(0.254829592F));
  return p * t * exp_minus_x2;
}

}  // namespace gpucast::mdapp

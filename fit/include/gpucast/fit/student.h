// Student's t distribution with 8 degrees of freedom, whose distribution function is elementary
// (Abramowitz and Stegun 26.7.4, for even degrees). T is a number or an array of Eigen's.
#pragma once

#include <cmath>

namespace gpucast::fit::student {

inline constexpr double freedom = 8;

// sqrt(8 / (8 + t^2)): distribution and density follow from it without another division.
template <class T>
T root(const T& t) {
  using std::sqrt;
  return sqrt(freedom / (freedom + t * t));
}

template <class T>
T distribution(const T& t, const T& root) {
  const double half_sine = .5 / std::sqrt(freedom);  // of a sine t / sqrt(8 + t^2)
  const T cosine2 = root * root;
  return .5 + half_sine * t * root *
                  (1 + cosine2 * (1.0 / 2 + cosine2 * (3.0 / 8 + cosine2 * (15.0 / 48))));
}

// Gamma(9/2) / Gamma(4) / sqrt(8 pi) = (105 sqrt(pi) / 16) / 6 / sqrt(8 pi)
template <class T>
T density(const T& root) {
  const T power2 = root * root;
  const T power4 = power2 * power2;
  return 105.0 / 96 / std::sqrt(freedom) * power4 * power4 * root;
}

}  // namespace gpucast::fit::student

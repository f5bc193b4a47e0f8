// Student's t distribution with 8 degrees of freedom, whose distribution function is elementary
// (Abramowitz and Stegun 26.7.4, for even degrees).
#pragma once

#include <cmath>
#include <numbers>

namespace gpucast::fit::student {

inline constexpr double freedom = 8;

inline double distribution(double t) {
  const double sine = t / std::sqrt(freedom + t * t);
  const double cosine2 = freedom / (freedom + t * t);
  const double series = 1 + cosine2 * (1.0 / 2 + cosine2 * (3.0 / 8 + cosine2 * (15.0 / 48)));
  return .5 + .5 * sine * series;
}

// Gamma(9/2) / Gamma(4) / sqrt(8 pi) = (105 sqrt(pi) / 16) / 6 / sqrt(8 pi)
inline double density(double t) {
  const double root = std::sqrt(freedom / (freedom + t * t));
  const double power4 = root * root * root * root;
  return 105.0 / 96 / std::sqrt(freedom) * power4 * power4 * root;
}

inline double log_density(double t) {
  const double constant = std::log(105.0 / 96 / std::sqrt(freedom));
  return constant - .5 * (freedom + 1) * std::log1p(t * t / freedom);
}

}  // namespace gpucast::fit::student

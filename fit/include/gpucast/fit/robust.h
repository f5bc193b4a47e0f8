// Robust statistics of residuals: weights, costs and scales that a few wild samples cannot move.
//
// Weights depend on standardized residuals z = r / sigma. Huber's are convex and lead from any
// start to the right neighbourhood; Tukey's biweight then gives samples beyond c sigma no weight at
// all, as one-sided disturbances of a step (another job, a page fault) require. c is set for 95 %
// efficiency on normal noise. Maronna, Martin & Yohai, Robust Statistics (2006).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace gpucast::fit {

inline constexpr double huber_c = 1.345;
inline constexpr double tukey_c = 4.685;

inline double huber_weight(double z) {
  return std::abs(z) <= huber_c ? 1.0 : huber_c / std::abs(z);
}

inline double tukey_weight(double z) {
  const double t = z / tukey_c;
  const double s = 1 - t * t;
  return s > 0 ? s * s : 0.0;
}

// Cost of a residual: z^2 / 2 for small z, constant beyond c.
inline double tukey_cost(double z) {
  const double t = z / tukey_c;
  const double s = std::max(0.0, 1 - t * t);
  return tukey_c * tukey_c / 6 * (1 - s * s * s);
}

// Derivative of psi(z) = z w(z).
inline double tukey_psi_slope(double z) {
  const double t = z / tukey_c;
  const double s = 1 - t * t;
  return s > 0 ? s * (1 - 5 * t * t) : 0.0;
}

// A weighted mean square under Tukey weights, sum(w z^2) / sum(w), is smaller than the variance by
// this factor for standard normal z (numerical quadrature of both expectations).
inline constexpr double tukey_mean_square = 0.828073003;

// Median absolute value of standard normal noise: the MAD of a sample over this estimates sigma.
inline constexpr double normal_mad = 0.6744897501960817;

// Median; mean of the middle two for an even count. `values` must not be empty.
double median(std::vector<double> values);

// Variance of the median of `count` normal values, relative to one value's: exact for one and two,
// asymptotically exact for many, within 2 % for odd counts in between.
double median_variance(std::size_t count);

// Tukey's M-estimate of the centre of values whose noise has sigma 1. `values` must not be empty.
double tukey_centre(std::span<const double> values);

// The smallest number in `low` ... `high` (both positive) for which `falls_short` is false, if it
// is true for all below: bisects the logarithm.
template <class FallsShort>
double least_enough(double low, double high, double tolerance, const FallsShort& falls_short) {
  double below = std::log(low);
  double above = std::log(high);
  for (int step = 0; step < 40 && above - below > tolerance; ++step) {
    const double middle = (below + above) / 2;
    (falls_short(std::exp(middle)) ? below : above) = middle;
  }
  return std::exp(above);
}

// The sigma for which median |r_i| / sqrt(sigma^2 + v_i) is that of normal noise: a MAD scale of
// the noise that remains after each residual's known variance v_i. Never below `floor`.
double mad_scale(std::span<const double> residuals, std::span<const double> known_variance,
                 double floor);

}  // namespace gpucast::fit

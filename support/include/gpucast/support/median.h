// The median of samples and its confidence interval, without assumptions on the distribution.
//
// Times of computers have long tails, so no normal theory. The number B of n independent samples
// that fall below the true median is binomial(n, 1/2), whatever the distribution. With the samples
// in order, x_(1) <= ... <= x_(n), the median lies between x_(d) and x_(n+1-d) if d <= B <= n - d:
//
//     P(x_(d) <= median <= x_(n+1-d)) = sum_{i=d}^{n-d} C(n, i) / 2^n      (at least; = if no ties)
//
// d is the largest for which that is at least the confidence wanted (David & Nagaraja, Order
// Statistics, 3rd ed., section 7.1). The sum is exact for every n. 95 % need 6 samples
// (d = 1: 1 - 2/2^6 = 96.9 %). Samples that follow each other are not quite independent: drifting
// clocks make the interval too narrow.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <vector>

namespace gpucast::support {

// Returns the mean of the middle two for an even number. Throws std::invalid_argument without
// samples.
inline double median(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("the median of no samples");
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  if (samples.size() % 2 != 0) return *middle;
  return *middle / 2 + *std::max_element(samples.begin(), middle) / 2;
}

// C(n, n/2) / 2^n (n/2 rounded down), as a product of factors below 1: no overflow for any n.
inline double middle_probability(std::size_t n) {
  const std::size_t half = n / 2;
  double result = 1;
  for (std::size_t i = 1; i <= half; ++i)
    result *= (2 * static_cast<double>(i) - 1) / (2 * static_cast<double>(i));
  if (n % 2 != 0) {
    const auto h = static_cast<double>(half);
    result *= (2 * h + 1) / (2 * h + 2);
  }
  return result;
}

// Ranks d and n + 1 - d of the interval's ends, counted from 1, and their actual coverage.
struct MedianRanks {
  std::size_t low = 0;
  std::size_t high = 0;
  double coverage = 0;
};

// Returns nothing if n samples cannot give that confidence.
inline std::optional<MedianRanks> median_ranks(std::size_t n, double confidence = 0.95) {
  if (n == 0) return std::nullopt;
  // From the middle outwards: terms i = d and i = n - d, which are one if n = 2 d.
  std::size_t d = n / 2;
  double term = middle_probability(n);
  double coverage = n % 2 == 0 ? term : 2 * term;
  while (coverage < confidence && d > 0) {
    // C(n, d - 1) = C(n, d) d / (n - d + 1)
    term *= static_cast<double>(d) / static_cast<double>(n - d + 1);
    coverage += 2 * term;
    --d;
  }
  if (d == 0) return std::nullopt;
  return MedianRanks{d, n + 1 - d, coverage};
}

struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  double coverage = 0;

  // Half the interval's width over the median.
  double relative_half_width() const { return (high - low) / 2 / median; }
};

// Returns nothing if there are too few samples: below 6 for 95 %.
inline std::optional<MedianInterval> median_interval(std::vector<double> samples,
                                                     double confidence = 0.95) {
  const auto ranks = median_ranks(samples.size(), confidence);
  if (!ranks) return std::nullopt;
  std::ranges::sort(samples);
  return MedianInterval{median(samples), samples[ranks->low - 1], samples[ranks->high - 1],
                        ranks->coverage};
}

// The interval's relative half-width for the median over all runs of a program, whose relative
// standard deviation from run to run `sd` was estimated from `runs` of them: the two are
// independent, and Student's factor accounts for the estimate.
inline double with_run_to_run(double relative_half_width, double sd, std::size_t runs) {
  // Student's t at 97.5 %, for 1, 2, ... degrees of freedom (any table of it).
  constexpr std::array<double, 10> student = {12.706, 4.303, 3.182, 2.776, 2.571,
                                              2.447,  2.365, 2.306, 2.262, 2.228};
  const std::size_t freedom = std::clamp<std::size_t>(runs, 2, student.size() + 1) - 1;
  return std::hypot(relative_half_width, student.at(freedom - 1) * sd);
}

}  // namespace gpucast::support

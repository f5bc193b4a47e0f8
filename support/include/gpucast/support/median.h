// Median of samples and its confidence interval, with no assumption on how times scatter.
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

#include <cstddef>
#include <optional>
#include <vector>

namespace gpucast::support {

// Mean of the two in the middle for an even number. Throws std::invalid_argument without samples.
double median(std::vector<double> samples);

// Ranks d and n + 1 - d of the interval's ends, counted from 1, and what they really cover.
struct MedianRanks {
  std::size_t low = 0;
  std::size_t high = 0;
  double coverage = 0;
};

// Nothing where n samples cannot give that confidence.
std::optional<MedianRanks> median_ranks(std::size_t n, double confidence = 0.95);

struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  double coverage = 0;

  // Half the interval's width over the median.
  double relative_half_width() const { return (high - low) / 2 / median; }
};

// Nothing where the samples are too few: below 6 for 95 %.
std::optional<MedianInterval> median_interval(std::vector<double> samples,
                                              double confidence = 0.95);

// The interval's half-width over the median, for the median of all runs of a program where `sd` is
// the relative standard deviation from run to run, known from `runs` of them: the two are
// independent, and Student's factor covers that sd is an estimate.
double with_run_to_run(double relative_half_width, double sd, std::size_t runs);

}  // namespace gpucast::support

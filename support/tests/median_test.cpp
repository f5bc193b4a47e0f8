#include "gpucast/support/median.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace gpucast::support {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 100}), 3.5);
  EXPECT_THROW(median({}), std::invalid_argument);
}

// Returns zeros, which no interval has, if there is none.
MedianRanks ranks_of(std::size_t n) { return median_ranks(n).value_or(MedianRanks{}); }

// Ranks of the 95 % interval as tabulated (Campbell & Gardner, Br. Med. J. 296:1454, 1988).
TEST(MedianRanks, AreThoseOfTheTables) {
  const std::vector<std::pair<std::size_t, std::size_t>> low_of_n{
      {6, 1},  {7, 1},  {8, 1},   {9, 2},   {10, 2},  {11, 2},  {12, 3},  {15, 4},
      {20, 6}, {25, 8}, {30, 10}, {40, 14}, {50, 18}, {70, 27}, {100, 40}};
  for (const auto& [n, low] : low_of_n) {
    EXPECT_EQ(ranks_of(n).low, low) << n;
    EXPECT_EQ(ranks_of(n).high, n + 1 - low) << n;
    EXPECT_GE(ranks_of(n).coverage, 0.95) << n;
  }
}

TEST(MedianRanks, OfSixSamplesAreAllAndCover96Point9Percent) {
  EXPECT_DOUBLE_EQ(ranks_of(6).coverage, 1 - 2.0 / 64);
  EXPECT_DOUBLE_EQ(ranks_of(9).coverage, 1 - 2 * (1 + 9) / 512.0);
}

TEST(MedianRanks, NeedSixSamplesForThisConfidence) {
  for (std::size_t n = 0; n < 6; ++n)
    EXPECT_FALSE(median_ranks(n)) << n;
  EXPECT_TRUE(median_ranks(2, 0.5));
  EXPECT_FALSE(median_ranks(7, 0.99));
  EXPECT_TRUE(median_ranks(8, 0.99));
}

TEST(MedianRanks, AreExactWhereTwoToTheNOverflows) {
  // Normal limit: d = n/2 - 1.96 sqrt(n)/2, with a rank to spare.
  for (const std::size_t n : {5'000U, 100'001U, 4'000'000U}) {
    const auto size = static_cast<double>(n);
    const MedianRanks ranks = ranks_of(n);
    EXPECT_NEAR(static_cast<double>(ranks.low), (size - 1.96 * std::sqrt(size)) / 2, 1.5);
    EXPECT_NEAR(ranks.coverage, 0.95, 0.02);
  }
}

TEST(MedianInterval, OfSixSamplesGoesFromTheLeastToTheLargest) {
  const auto interval = median_interval({6, 1, 5, 2, 4, 3});
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->median, 3.5);
  EXPECT_EQ(interval->high, 6);
  EXPECT_DOUBLE_EQ(interval->relative_half_width(), 2.5 / 3.5);
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItSays) {
  std::mt19937_64 random(1);  // NOLINT(bugprone-random-generator-seed): the same every run
  std::lognormal_distribution<double> time(0, 1);  // long tail; the median is 1
  for (const std::size_t n : {6U, 15U, 40U, 101U}) {
    constexpr int trials = 10'000;
    int covered = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> samples(n);
      for (double& sample : samples)
        sample = time(random);
      const auto interval = median_interval(std::move(samples)).value_or(MedianInterval{});
      covered += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
    }
    // Four standard errors of a share near 0.95 are below 0.01.
    EXPECT_NEAR(static_cast<double>(covered) / trials, ranks_of(n).coverage, 0.01) << n;
  }
}

TEST(RunToRun, WidensIntervals) {
  EXPECT_DOUBLE_EQ(with_run_to_run(0.01, 0, 6), 0.01);
  EXPECT_NEAR(with_run_to_run(0, 0.01, 6), 0.02571, 1e-12);
  EXPECT_NEAR(with_run_to_run(0.03, 0.04 / 12.706, 2), 0.05, 1e-12);
  EXPECT_NEAR(with_run_to_run(0, 1, 1000), 2.228, 1e-12);
}

}  // namespace
}  // namespace gpucast::support

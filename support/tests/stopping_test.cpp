#include "gpucast/support/stopping.h"

#include <gtest/gtest.h>

#include <random>

namespace gpucast::support {
namespace {

TEST(StopByInterval, StopsAtTheLeastCountWhereSamplesAgree) {
  StopByInterval stop({.relative_half_width = 0.01, .min_samples = 8});
  for (int sample = 0; sample < 8; ++sample) {
    EXPECT_FALSE(stop.done());
    stop.add(1 + 0.001 * sample);
  }
  EXPECT_TRUE(stop.done());
  EXPECT_TRUE(stop.narrow());
}

TEST(StopByInterval, GoesOnUntilTheIntervalIsNarrow) {
  std::mt19937_64 random(2);  // NOLINT(bugprone-random-generator-seed): the same every run
  std::lognormal_distribution<double> time(0, 0.2);
  StopByInterval stop({.relative_half_width = 0.02});
  while (!stop.done())
    stop.add(time(random));
  const auto interval = median_interval(stop.samples()).value_or(MedianInterval{});
  EXPECT_LE(interval.relative_half_width(), 0.02);
  // 1.96 * 1.25 * 0.2 / sqrt(n) = 0.02 for n = 600.
  EXPECT_GT(stop.samples().size(), 200U);
  EXPECT_LT(stop.samples().size(), 1500U);
}

TEST(StopByInterval, GoesOnForItsLeastTime) {
  StopByInterval stop({.relative_half_width = 0.01, .min_samples = 8, .min_seconds = 20});
  for (int i = 0; i < 19; ++i) {
    stop.add(1.0);
    EXPECT_FALSE(stop.done()) << i;
  }
  stop.add(1.0);
  EXPECT_TRUE(stop.done());
}

TEST(StopByInterval, GivesUpWhenItsTimeIsUp) {
  StopByInterval stop({.relative_half_width = 0.001, .max_seconds = 10});
  int samples = 0;
  for (; !stop.done(); ++samples)
    stop.add(samples % 2 == 0 ? 0.5 : 1.5);
  EXPECT_EQ(samples, 10);
  EXPECT_FALSE(stop.narrow());
}

TEST(StopByInterval, StopsAfterOneSampleLongerThanItsTime) {
  StopByInterval stop({.max_seconds = 1});
  stop.add(60);
  EXPECT_TRUE(stop.done());
}

TEST(StopByInterval, LooksAtMillionsOfShortSamplesInNoTime) {
  StopByInterval stop({.relative_half_width = 0, .min_samples = 6, .max_seconds = 1});
  std::size_t samples = 0;
  for (; !stop.done(); ++samples)
    stop.add(samples % 2 == 0 ? 1e-6 : 3e-6);
  EXPECT_NEAR(static_cast<double>(samples), 500'000, 10);
}

// Steps of a clock that rises to its final rate: 2 s at first, then 1 s, exponentially.
double rising(double moment, double time_constant) {
  return 0.001 * (1 + std::exp(-moment / time_constant));
}

double seconds_until_done(WarmUp& warm_up, double time_constant) {
  while (!warm_up.done())
    warm_up.add(rising(warm_up.seconds(), time_constant));
  return warm_up.seconds();
}

TEST(WarmUp, OfAClockThatIsSteadyTakesTheLeastTime) {
  WarmUp warm_up({.least_seconds = 0.5, .most_seconds = 5, .tolerance = 0.02});
  EXPECT_NEAR(seconds_until_done(warm_up, 1e-9), 0.5, 0.01);
  EXPECT_TRUE(warm_up.settled());
}

TEST(WarmUp, OfAClockThatRisesWaitsUntilItHas) {
  WarmUp warm_up({.least_seconds = 0.1, .most_seconds = 20, .tolerance = 0.02});
  const double seconds = seconds_until_done(warm_up, 0.5);
  EXPECT_TRUE(warm_up.settled());
  EXPECT_LT(rising(seconds, 0.5), 0.001 * 1.05);
  EXPECT_LT(seconds, 5);
}

TEST(WarmUp, OfAClockThatNeverSettlesIsGivenUp) {
  WarmUp warm_up({.least_seconds = 0.1, .most_seconds = 2, .tolerance = 0.01});
  double step = 0.001;
  while (!warm_up.done())
    warm_up.add(step *= 1.001);
  EXPECT_FALSE(warm_up.settled());
  EXPECT_NEAR(warm_up.seconds(), 2, 0.01);
}

TEST(WarmUp, IsNotTakenInBySingleDisturbedSteps) {
  WarmUp warm_up({.least_seconds = 0.5, .most_seconds = 5, .tolerance = 0.02});
  for (int step = 0; !warm_up.done(); ++step)
    warm_up.add(step % 50 == 0 ? 0.01 : 0.001);
  EXPECT_TRUE(warm_up.settled());
  EXPECT_LT(warm_up.seconds(), 0.6);
}

TEST(WarmUp, NeedsThreeStepsAWindow) {
  WarmUp warm_up({.least_seconds = 1, .most_seconds = 100, .tolerance = 0.02});
  int steps = 0;
  for (; !warm_up.done(); ++steps)
    warm_up.add(1);
  EXPECT_EQ(steps, 11);  // 6 to 8 against 9 to 11
}

TEST(WarmUp, IsOverAfterOneStepLongerThanItsTime) {
  WarmUp warm_up({.least_seconds = 1, .most_seconds = 5, .tolerance = 0.02});
  warm_up.add(60);
  EXPECT_TRUE(warm_up.done());
  EXPECT_FALSE(warm_up.settled());
}

}  // namespace
}  // namespace gpucast::support

#include "gpucast/model/poll.h"

#include <gtest/gtest.h>

namespace gpucast::model {
namespace {

constexpr double tick = 8.192e-6;

double sigma_of(double work) { return std::hypot(0.4e-6, 0.004 * work); }

// The mean of tick * ceil(y / tick) over y normal about `work`: a tick for each one that y has
// passed. No Fourier series.
double mean_of_ticks(double work) {
  const double sigma = sigma_of(work);
  double sum = 0;
  for (int m = 0; m * tick < work + 8 * sigma; ++m)
    sum += tick * std::erfc((m * tick - work) / sigma / std::numbers::sqrt2) / 2;
  return sum;
}

TEST(Polled, WaitsForNothingThatHasEnded) {
  EXPECT_EQ(polled(0.0), 0.0);
  EXPECT_EQ(polled(-1e-9), 0.0);
  EXPECT_EQ(polled(-1.0), 0.0);
}

TEST(Polled, IsTheNextTickForShortWorkAwayFromTicks) {
  for (int passed = 0; passed < 20; ++passed) {
    for (const double part : {0.25, 0.4, 0.5, 0.6, 0.75}) {
      EXPECT_NEAR(polled((passed + part) * tick), (passed + 1) * tick, 0.03 * tick)
          << passed << " ticks and " << part;
    }
  }
}

TEST(Polled, InTheMiddleBetweenTicksIsExactlyTheNext) {
  // Every harmonic is zero there.
  for (const int passed : {0, 1, 7, 50})
    EXPECT_NEAR(polled((passed + 0.5) * tick), (passed + 1) * tick, 1e-12 * tick * (passed + 1));
}

TEST(Polled, IsTheMeanOverWhatIsNotKnownOfTheWork) {
  for (int i = 0; i < 8000; ++i) {
    const double work = (0.25 + 0.0371 * i) * tick;
    ASSERT_NEAR(polled(work), mean_of_ticks(work), 0.03 * tick) << work / tick << " ticks";
  }
}

TEST(Polled, AddsHalfATickToLongWork) {
  for (const double work : {1.5e-3, 10e-3, 1.0, 1e3})
    EXPECT_NEAR(polled(work), work + tick / 2, 1e-3 * tick);
}

TEST(Polled, NeverSeesAnEndBeforeItOrMoreThanATickAfterIt) {
  for (int i = 0; i < 15000; ++i) {
    const double work = 1e-9 + 0.0137 * i * tick;
    ASSERT_GT(polled(work), work - 0.03 * tick) << work / tick << " ticks";
    ASSERT_LT(polled(work), work + 1.03 * tick) << work / tick << " ticks";
  }
}

TEST(Polled, HasNoJumpWhereWorkGrows) {
  // Also not where the sawtooth is left out, at 1.2 ms.
  constexpr double nanosecond = 1e-9;
  for (int i = 1; i < 1'300'000; ++i) {
    const double work = i * nanosecond;
    ASSERT_LT(std::abs(polled(work + nanosecond) - polled(work)), 10 * nanosecond) << work;
  }
}

}  // namespace
}  // namespace gpucast::model

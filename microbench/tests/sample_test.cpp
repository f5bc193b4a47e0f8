#include "measure/sample.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "fake_engine.h"
#include "gpucast/support/median.h"

namespace gpucast::microbench {
namespace {

using records::TransferMethod;
using test::Fake;
using test::FakeCopies;

TEST(TakeSamples, StopsOnceTheMedianIsKnown) {
  int taken = 0;
  const auto samples = take_samples(
      [&] {
        ++taken;
        return 1e-6;
      },
      {}, {});
  EXPECT_EQ(samples.size(), 6U);
  EXPECT_EQ(taken, 7);  // the first one is dropped
}

TEST(TakeSamples, TakesMoreWhereTheyScatter) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> scatter(-12, 0.1);
  const auto samples = take_samples([&] { return scatter(random); }, {.max_seconds = 1e9}, {});
  EXPECT_GT(samples.size(), 100U);
  const auto interval = support::median_interval(samples);
  ASSERT_TRUE(interval.has_value());
  EXPECT_LE(interval->relative_half_width(), 0.01);
}

TEST(TakeSamples, StopsAfterItsTimeButNotBeforeSix) {
  double value = 1;
  const auto scatter = [&] { return value *= 1.5; };
  EXPECT_EQ(take_samples(scatter, {.max_seconds = 0}, {}).size(), 6U);
}

TEST(TakeSamples, CountsWhatSamplesCostNotWhatTheySay) {
  double value = 1e-9;
  const auto slow = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // at least: never fewer
    return value *= 1.5;
  };
  EXPECT_LE(take_samples(slow, {.max_seconds = 0.05}, {}).size(), 26U);
}

TEST(TakeSamples, StopsWhenInterrupted) {
  std::stop_source stop;
  double value = 1e-9;
  const auto samples = take_samples(
      [&] {
        value *= 1.5;
        if (value > 1e-6) stop.request_stop();
        return value;
      },
      {.max_seconds = 1e9}, stop.get_token());
  EXPECT_GT(samples.size(), 6U);
  EXPECT_LT(samples.size(), 40U);
}

TEST(Batch, IsLongWhereCopiesAreShort) {
  EXPECT_EQ(batch_of(1e-9, {}), 32);
  EXPECT_EQ(batch_of(10e-6, {}), 10);
  EXPECT_EQ(batch_of(1e-3, {.seconds = 20e-3}), 20);
  EXPECT_EQ(batch_of(1e-3, {.seconds = 20e-3, .most = 7}), 7);
  EXPECT_EQ(batch_of(1, {}), 1);
}

TEST(Sample, GatedCopiesAreTimedWithoutWhatNothingTakes) {
  Fake fake{.latency = 2e-6, .rate = 1e9, .empty = 5e-6};
  const Copy copy{.from = host, .to = 0, .bytes = 1000};
  FakeCopies copies(fake, {&copy, 1});
  for (const double seconds : sample(copies, TransferMethod::gated, {}, {}))
    EXPECT_NEAR(seconds, 3e-6, 1e-12);
}

TEST(Latency, BothEstimatesFindIt) {
  Fake fake{.latency = 2e-6, .rate = 1e9, .empty = 5e-6};
  const Copy copy{.from = host, .to = 0, .bytes = 64};
  FakeCopies copies(fake, {&copy, 1});
  const Latency estimates = latency(copies);
  EXPECT_NEAR(estimates.slope, 2.064e-6, 1e-12);
  EXPECT_NEAR(estimates.single, 2.064e-6, 1e-12);
  EXPECT_NEAR(estimates.each, 2.064e-6, 1e-12);
}

}  // namespace
}  // namespace gpucast::microbench

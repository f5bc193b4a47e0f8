#include "gpucast/fit/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

constexpr std::size_t steps = group({.kind = Kind::step});

// Cells of one size each with arbitrary times: there is no model behind them.
synthetic::Samples scattered(int cells, int repetitions, synthetic::Noisy& noisy) {
  synthetic::Samples samples;
  for (int cell = 0; cell < cells; ++cell) {
    const double seconds = std::exp(noisy.normal());
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      samples.add(synthetic::step(cell + 1, 1), noisy(seconds));
    }
  }
  return samples;
}

TEST(PureError, RecoversSigmaForAnyNumberOfRepetitions) {
  for (const int repetitions : {2, 3, 5, 10, 50}) {
    synthetic::Noisy noisy(1, 0.05);
    const PureError error =
        pure_error(scattered(4000 / repetitions, repetitions, noisy).observations(), steps);
    EXPECT_NEAR(error.sigma, 0.05, 0.003) << repetitions << " repetitions";
  }
}

TEST(PureError, IsHardlyRaisedByDisturbedSamples) {
  synthetic::Noisy noisy(2, 0.03, 0.08);
  const PureError error = pure_error(scattered(400, 5, noisy).observations(), steps);
  EXPECT_NEAR(error.sigma, 0.03, 0.003);
}

TEST(PureError, CentresACellWhereItsSamplesAgree) {
  // Three of five samples disturbed, each by another factor; the other two agree.
  synthetic::Noisy noisy(3, 0.01);
  synthetic::Samples samples = scattered(50, 5, noisy);
  const double truth = 2.0;
  for (const double factor : {1.0, 1.9, 2.4, 1.005, 3.3}) {
    samples.add(synthetic::step(1000, 1), truth * factor);
  }
  const PureError error = pure_error(samples.observations(), steps);
  ASSERT_EQ(error.centers.size(), 51U);
  EXPECT_NEAR(error.centers.back().value, std::log(truth), 0.005);
  EXPECT_NEAR(error.centers.back().weight, 2.0, 0.2);
}

TEST(PureError, HasTheFreedomOfSamplesLessCells) {
  synthetic::Noisy noisy(4, 0.02);
  const PureError error = pure_error(scattered(100, 6, noisy).observations(), steps);
  // Tukey's weights of normal noise average 0.915 at c = 4.685, a little more within a cell.
  EXPECT_LE(error.freedom, 500);
  EXPECT_GT(error.freedom, 0.9 * 500);
}

TEST(PureError, LeavesOutSingleTimingsAndOtherGroups) {
  synthetic::Noisy noisy(5, 0.02);
  synthetic::Samples samples = scattered(20, 4, noisy);
  samples.add(synthetic::step(1000, 1), 1.0);
  for (int repetition = 0; repetition < 50; ++repetition) {
    samples.add(synthetic::launch(10), std::exp(noisy.normal()));
  }
  const PureError error = pure_error(samples.observations(), steps);
  EXPECT_EQ(error.centers.size(), 20U);
  EXPECT_NEAR(error.sigma, 0.02, 0.006);
}

TEST(PureError, WithoutRepetitionsIsNotKnown) {
  synthetic::Noisy noisy(6, 0.02);
  const Observations observations = scattered(20, 1, noisy).observations();
  EXPECT_FALSE(pure_error(observations, steps).known());
  EXPECT_TRUE(std::isnan(pure_error(observations, steps).sigma));
  EXPECT_FALSE(pure_error(observations, group(synthetic::launch(1))).known());
}

TEST(PureError, OfIdenticalRepetitionsIsPositive) {
  synthetic::Noisy exact(7, 0.0);
  const PureError error = pure_error(scattered(20, 5, exact).observations(), steps);
  EXPECT_TRUE(error.known());
  EXPECT_GT(error.sigma, 0.0);
  EXPECT_LT(error.sigma, 1e-8);
}

}  // namespace
}  // namespace gpucast::fit

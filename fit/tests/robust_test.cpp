#include "gpucast/fit/robust.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

// Simpson's rule.
template <class Function>
double integral(const Function& function, double from, double to) {
  constexpr int pieces = 20000;
  const double h = (to - from) / pieces;
  double sum = function(from) + function(to);
  for (int i = 1; i < pieces; ++i)
    sum += (i % 2 == 1 ? 4 : 2) * function(from + i * h);
  return sum * h / 3;
}

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

TEST(TukeyCost, HasThePsiOfItsWeightAsDerivative) {
  for (int point = -60; point <= 60; ++point) {
    const double z = 0.1 * point + 0.037;
    const double h = 1e-5;
    const double slope = (tukey_cost(z + h) - tukey_cost(z - h)) / (2 * h);
    EXPECT_NEAR(slope, z * tukey_weight(z), 1e-8) << z;
  }
}

TEST(TukeyPsi, HasTheSlopeThatItStates) {
  for (int point = -60; point <= 60; ++point) {
    const double z = 0.1 * point + 0.037;
    const double h = 1e-5;
    const double slope = ((z + h) * tukey_weight(z + h) - (z - h) * tukey_weight(z - h)) / (2 * h);
    EXPECT_NEAR(slope, tukey_psi_slope(z), 1e-8) << z;
  }
}

TEST(TukeyCost, IsHalfTheSquareNearZeroAndConstantFarOut) {
  EXPECT_NEAR(tukey_cost(1e-3), 0.5e-6, 1e-12);
  EXPECT_DOUBLE_EQ(tukey_cost(5), tukey_cost(500));
  EXPECT_DOUBLE_EQ(tukey_cost(-5), tukey_cost(5));
  EXPECT_EQ(tukey_weight(4.7), 0.0);
  EXPECT_EQ(tukey_weight(0), 1.0);
}

TEST(HuberWeight, BoundsTheInfluenceOfASample) {
  EXPECT_EQ(huber_weight(1.3), 1.0);
  EXPECT_NEAR(100 * huber_weight(100), 1.345, 1e-12);
  EXPECT_NEAR(-100 * huber_weight(-100), -1.345, 1e-12);
}

TEST(RobustConstants, GiveNinetyFivePercentEfficiencyOnNormalNoise) {
  // Efficiency of an M-estimate: E[psi']^2 / E[psi^2].
  const double tukey_slope =
      integral([](double z) { return tukey_psi_slope(z) * normal_density(z); }, -tukey_c, tukey_c);
  const double tukey_square =
      integral([](double z) { return std::pow(z * tukey_weight(z), 2) * normal_density(z); },
               -tukey_c, tukey_c);
  EXPECT_NEAR(tukey_slope * tukey_slope / tukey_square, 0.95, 5e-4);
  const double huber_slope = integral(normal_density, -huber_c, huber_c);
  const double huber_square = integral(
      [](double z) { return std::pow(z * huber_weight(z), 2) * normal_density(z); }, -12, 12);
  EXPECT_NEAR(huber_slope * huber_slope / huber_square, 0.95, 5e-4);
}

TEST(RobustConstants, TukeyMeanSquareIsTheQuotientOfItsExpectations) {
  const double squares = integral(
      [](double z) { return tukey_weight(z) * z * z * normal_density(z); }, -tukey_c, tukey_c);
  const double weights =
      integral([](double z) { return tukey_weight(z) * normal_density(z); }, -tukey_c, tukey_c);
  EXPECT_NEAR(tukey_mean_square, squares / weights, 1e-9);
}

TEST(RobustConstants, HalfOfNormalNoiseLiesWithinTheNormalMad) {
  EXPECT_NEAR(std::erf(normal_mad / std::numbers::sqrt2), 0.5, 1e-15);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 5, 2}), 3.5);
  EXPECT_EQ(median({4, 4, 4, 1}), 4);
  EXPECT_EQ(median({-1, 3}), 1);
}

TEST(Median, OfNothingIsRefused) { EXPECT_THROW(median({}), std::invalid_argument); }

std::vector<double> normal_sample(std::size_t count, std::uint64_t seed) {
  synthetic::Noisy noisy(seed, 0);
  std::vector<double> result(count);
  for (double& value : result)
    value = noisy.normal();
  return result;
}

TEST(MedianVariance, OfOddCountsIsThatOfTheMiddleOrderStatistic) {
  for (const int half : {0, 1, 2, 3, 7, 15}) {
    const int count = 2 * half + 1;
    // Density of the middle of `count` normal values: count! / half!^2 (P (1 - P))^half p.
    const double log_factor = std::lgamma(count + 1) - 2 * std::lgamma(half + 1);
    const double variance = integral(
        [&](double z) {
          const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
          return z * z * std::exp(log_factor) * std::pow(below * (1 - below), half) *
                 normal_density(z);
        },
        -9, 9);
    EXPECT_NEAR(median_variance(static_cast<std::size_t>(count)) / variance, 1.0, 0.02) << count;
  }
}

TEST(MedianVariance, OfTwoIsThatOfTheirMean) { EXPECT_NEAR(median_variance(2), 0.5, 1e-12); }

TEST(TukeyCentre, IsTheMeanOfCleanValuesNearly) {
  const std::vector<double> values = normal_sample(20000, 5);
  EXPECT_NEAR(tukey_centre(values), 0.0, 0.03);
  EXPECT_EQ(tukey_centre(std::vector<double>{2.5}), 2.5);
  EXPECT_NEAR(tukey_centre(std::vector<double>{1.0, 1.1, 1.2}), 1.1, 1e-9);
}

TEST(TukeyCentre, IsNotMovedByWildSamples) {
  std::vector<double> values = normal_sample(2000, 6);
  const double clean = tukey_centre(values);
  values.resize(2100, 40.0);
  EXPECT_NEAR(tukey_centre(values), clean, 0.01);
}

TEST(TukeyCentre, BalancesItsWeightedDeviations) {
  const std::vector<double> values = normal_sample(200, 7);
  const double centre = tukey_centre(values);
  double sum = 0;
  for (const double value : values)
    sum += tukey_weight(value - centre) * (value - centre);
  EXPECT_NEAR(sum, 0.0, 1e-6);
}

TEST(MadScale, RecoversSigmaOfNormalNoise) {
  std::vector<double> residual = normal_sample(20000, 1);
  for (double& r : residual)
    r *= 0.05;
  EXPECT_NEAR(mad_scale(residual, std::vector<double>(residual.size(), 0.0), 1e-9), 0.05, 0.0015);
}

TEST(MadScale, RecoversSigmaBesideKnownVariances) {
  std::vector<double> residual = normal_sample(20000, 2);
  std::vector<double> variance(residual.size());
  for (std::size_t i = 0; i < residual.size(); ++i) {
    variance[i] = i % 2 == 0 ? 0.0 : 0.1 * 0.1;
    residual[i] *= std::sqrt(0.05 * 0.05 + variance[i]);
  }
  EXPECT_NEAR(mad_scale(residual, variance, 1e-9), 0.05, 0.002);
}

TEST(MadScale, IsNotMovedByWildSamples) {
  std::vector<double> residual = normal_sample(20000, 3);
  for (std::size_t i = 0; i < residual.size(); i += 20)
    residual[i] = 1e6;
  // 5 % wild samples move the median to the 0.526 quantile of the rest: 0.717 instead of 0.674.
  EXPECT_NEAR(mad_scale(residual, std::vector<double>(residual.size(), 0.0), 1e-9), 0.717 / 0.6745,
              0.03);
}

TEST(MadScale, IsTheFloorWhereRoundingAloneExplainsTheResiduals) {
  std::vector<double> residual = normal_sample(2000, 4);
  for (double& r : residual)
    r *= 0.01;
  EXPECT_EQ(mad_scale(residual, std::vector<double>(residual.size(), 0.02 * 0.02), 1e-5), 1e-5);
  EXPECT_EQ(mad_scale(std::vector<double>(9, 0.0), std::vector<double>(9, 0.0), 1e-5), 1e-5);
}

}  // namespace
}  // namespace gpucast::fit

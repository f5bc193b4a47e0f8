
#include <gtest/gtest.h>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;
using synthetic::Truth;

Eigen::VectorXd values_of(const Truth& truth) {
  const std::vector<double> values = truth.values();
  return Eigen::VectorXd::Map(values.data(), 7);
}

Replicates none() { return {Eigen::MatrixXd(0, 7), {}}; }

// Truths that scatter around `native` in every parameter, k between 2 and 6.
std::vector<Truth> scattered(std::size_t count) {
  synthetic::Noisy noisy(1, 0.4);
  std::vector<Truth> truths;
  for (std::size_t i = 0; i < count; ++i) {
    truths.push_back({2 + static_cast<int>(i % 5), native.c, noisy(native.t_gpu),
                      noisy(native.t_cpu), noisy(native.L_h2d), noisy(native.B_h2d),
                      noisy(native.L_d2h), noisy(native.B_d2h), noisy(native.t_kernel)});
  }
  return truths;
}

Replicates replicates_of(const std::vector<Truth>& truths) {
  Replicates result{Eigen::MatrixXd(static_cast<Eigen::Index>(truths.size()), 7), {}};
  for (std::size_t b = 0; b < truths.size(); ++b) {
    result.values.row(static_cast<Eigen::Index>(b)) = values_of(truths[b]).transpose();
    result.integers.push_back(truths[b].k);
  }
  return result;
}

TEST(Forecast, TermsSumToThePapersStepTime) {
  std::vector<double> n;
  std::vector<double> gpus;
  for (const double particles : {100.0, 9216.0, 64000.0, 1e6}) {
    for (const double count : {1.0, 3.0, 8.0}) {
      n.push_back(particles);
      gpus.push_back(count);
    }
  }
  const Forecast times = forecast(paper_model(native), values_of(native), none(), n, gpus, 2);
  ASSERT_EQ(times.gpu.size(), n.size());
  for (std::size_t i = 0; i < n.size(); ++i) {
    EXPECT_NEAR((times.gpu[i] + times.cpu[i] + times.com[i]) / native.seconds(n[i], gpus[i]), 1.0,
                1e-13);
    EXPECT_DOUBLE_EQ(times.cpu[i], native.t_cpu * n[i]);
    EXPECT_EQ(times.spread[i], 0.0);
  }
}

TEST(Forecast, SpreadIsTheRootMeanSquareOfLogRatios) {
  const auto truths = scattered(50);
  const std::vector<double> n{1000, 30000};
  const std::vector<double> gpus{4, 2};
  const Forecast times =
      forecast(paper_model(native), values_of(native), replicates_of(truths), n, gpus, 2);
  for (std::size_t i = 0; i < n.size(); ++i) {
    double squares = 0;
    for (const Truth& truth : truths) {
      squares +=
          std::pow(std::log(truth.seconds(n[i], gpus[i]) / native.seconds(n[i], gpus[i])), 2);
    }
    EXPECT_NEAR(times.spread[i], std::sqrt(squares / 50), 1e-12);
  }
}

TEST(Forecast, OfReplicatesEqualToTheEstimateHasNoSpread) {
  const std::vector<double> n{1000};
  const std::vector<double> gpus{4};
  const Forecast times =
      forecast(paper_model(native), values_of(native), replicates_of({native, native}), n, gpus, 1);
  EXPECT_EQ(times.spread[0], 0.0);
}

TEST(Forecast, IsTheSameForAnyNumberOfThreads) {
  std::vector<double> n;
  std::vector<double> gpus;
  for (int i = 0; i < 2000; ++i) {
    n.push_back(100.0 + 37.0 * i);
    gpus.push_back(1 + i % 8);
  }
  const Replicates replicates = replicates_of(scattered(5));
  const Forecast one = forecast(paper_model(native), values_of(native), replicates, n, gpus, 1);
  const Forecast three = forecast(paper_model(native), values_of(native), replicates, n, gpus, 3);
  EXPECT_EQ(one.gpu, three.gpu);
  EXPECT_EQ(one.com, three.com);
  EXPECT_EQ(one.spread, three.spread);
}

TEST(BestProbability, IsTheShareOfReplicatesInWhichACountIsTheFastest) {
  const auto truths = scattered(200);
  const std::vector<double> n{500, 2000, 10000, 50000, 300000};
  const std::vector<double> gpus{1, 2, 3, 4, 6, 8};
  const Eigen::MatrixXd probability =
      best_probability(paper_model(native), replicates_of(truths), n, gpus, 2);
  for (std::size_t i = 0; i < n.size(); ++i) {
    std::vector<double> wins(gpus.size(), 0.0);
    for (const Truth& truth : truths) {
      const auto slower = [&](double a, double b) {
        return truth.seconds(n[i], a) < truth.seconds(n[i], b);
      };
      const auto fastest = std::ranges::min_element(gpus, slower);
      wins[static_cast<std::size_t>(fastest - gpus.begin())] += 1;
    }
    const auto row = static_cast<Eigen::Index>(i);
    for (std::size_t g = 0; g < gpus.size(); ++g)
      EXPECT_NEAR(probability(row, static_cast<Eigen::Index>(g)), wins[g] / 200, 1e-12);
    EXPECT_NEAR(probability.row(row).sum(), 1.0, 1e-12);
  }
  EXPECT_GT((probability.array() > 0.05).count(), 6);  // more than one contender somewhere
}

TEST(BestProbability, GivesATieToTheSmallerCount) {
  const std::vector<double> n{1000};
  const std::vector<double> gpus{2, 2, 1, 1};
  const Eigen::MatrixXd probability =
      best_probability(paper_model(native), replicates_of({native}), n, gpus, 1);
  EXPECT_EQ(probability.row(0).maxCoeff(), 1.0);
  EXPECT_EQ(probability(0, 1), 0.0);
  EXPECT_EQ(probability(0, 3), 0.0);
}

}  // namespace
}  // namespace gpucast::fit

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;

constexpr std::uint64_t bootstrap_seed = 7;

Eigen::RowVectorXd deviation_of_logs(const Eigen::MatrixXd& values) {
  const Eigen::MatrixXd logs = values.array().log();
  const Eigen::MatrixXd centred = logs.rowwise() - logs.colwise().mean();
  return (centred.array().square().colwise().sum() / static_cast<double>(logs.rows() - 1)).sqrt();
}

TEST(Bootstrap, OfASeedIsTheSameForAnyNumberOfThreads) {
  const Fit fitted = fit(paper_model(native), synthetic::steps_alone(native, 1), {2, 3, 4, 5, 6});
  const Replicates one = fitted.bootstrap(50, bootstrap_seed, 1);
  for (const unsigned threads : {2U, 3U}) {
    const Replicates more = fitted.bootstrap(50, bootstrap_seed, threads);
    EXPECT_EQ(more.values, one.values) << threads;
    EXPECT_EQ(more.integers, one.integers) << threads;
  }
}

TEST(Bootstrap, OfAnotherSeedDiffersAndOfMoreReplicatesContinues) {
  const Fit fitted = fit(paper_model(native), synthetic::joint(native, 1), {4});
  const Replicates few = fitted.bootstrap(10, bootstrap_seed, 2);
  const Replicates more = fitted.bootstrap(20, bootstrap_seed, 2);
  EXPECT_EQ(more.values.topRows(10), few.values);
  EXPECT_NE(fitted.bootstrap(10, bootstrap_seed + 1, 2).values, few.values);
  EXPECT_NE(few.values.row(0), few.values.row(1));
}

TEST(Bootstrap, SpreadIsThatOfRepeatedExperiments) {
  constexpr Eigen::Index experiments = 400;
  Eigen::MatrixXd estimates(experiments, 7);
  Eigen::RowVectorXd variance = Eigen::RowVectorXd::Zero(7);
  constexpr int bootstrapped = 8;
  for (Eigen::Index experiment = 0; experiment < experiments; ++experiment) {
    const Fit fitted = fit(paper_model(native),
                           synthetic::joint(native, static_cast<std::uint64_t>(experiment)), {4});
    estimates.row(experiment) = fitted.values().transpose();
    if (experiment < bootstrapped) {
      variance += deviation_of_logs(fitted.bootstrap(200, bootstrap_seed, 2).values)
                      .array()
                      .square()
                      .matrix() /
                  bootstrapped;
    }
  }
  const Eigen::RowVectorXd expected = deviation_of_logs(estimates);
  for (Eigen::Index i = 0; i < 7; ++i) {
    EXPECT_NEAR(std::sqrt(variance[i]) / expected[i], 1.0, 0.25)
        << paper_model(native).parameter_list()[static_cast<std::size_t>(i)].name;
  }
}

TEST(Bootstrap, IsCentredOnTheEstimate) {
  const Fit fitted = fit(paper_model(native), synthetic::joint(native, 3), {4});
  const Replicates replicates = fitted.bootstrap(400, bootstrap_seed, 2);
  const Eigen::RowVectorXd spread = deviation_of_logs(replicates.values);
  const Eigen::RowVectorXd mean = replicates.values.array().log().colwise().mean();
  const Eigen::VectorXd at = fitted.values().array().log();
  for (Eigen::Index i = 0; i < 7; ++i)
    EXPECT_LT(std::abs(mean[i] - at[i]), 0.5 * spread[i]) << i;
}

TEST(Bootstrap, SpreadsOverAllThatTheDataLeaveOpen) {
  // Steps determine only a sum of 1/B_d2h and t_cpu: each replicate splits it in another way.
  const Fit fitted = fit(paper_model(native), synthetic::steps_alone(native, 4), {4});
  const Replicates replicates = fitted.bootstrap(300, bootstrap_seed, 2);
  const Eigen::ArrayXd host = replicates.values.col(synthetic::t_cpu).array() +
                              12 / replicates.values.col(synthetic::B_d2h).array();
  const Eigen::ArrayXd share = replicates.values.col(synthetic::t_cpu).array() / host;
  EXPECT_NEAR(share.mean(), 0.5, 0.07);
  EXPECT_NEAR((share - share.mean()).square().mean(), 1.0 / 12, 0.02);
  EXPECT_GT(share.minCoeff(), 0.0);
}

TEST(Bootstrap, ShowsEveryIntegerThatTheDataCannotTellApart) {
  // Up to 2000 particles on 2304 cores run one wave for every k.
  synthetic::Noisy noisy(5, 0.03);
  synthetic::Samples samples;
  synthetic::add_steps(samples, synthetic::steps_of(native), noisy, 5,
                       std::vector<double>{500, 1000, 2000});
  const Fit fitted = fit(paper_model(native), samples.observations(), {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(fitted.profile.classes.size(), 1U);
  const Replicates replicates = fitted.bootstrap(120, bootstrap_seed, 2);
  for (int k = 1; k <= 6; ++k) {
    const auto times = std::ranges::count(replicates.integers, k);
    EXPECT_GT(times, 5) << k;  // 20 expected
    EXPECT_LT(times, 45) << k;
  }
  // One wave takes n k c t_gpu: replicates agree on k t_gpu.
  for (Eigen::Index row = 0; row < replicates.values.rows(); ++row) {
    const int k = replicates.integers[static_cast<std::size_t>(row)];
    EXPECT_TRUE(std::isfinite(replicates.values(row, synthetic::t_gpu) * k));
    EXPECT_GT(replicates.values.row(row).minCoeff(), 0.0);
  }
}

TEST(Bootstrap, KeepsToTheTrueIntegerWhereTheDataTell) {
  const Fit fitted =
      fit(paper_model(native), synthetic::steps_alone(native, 6), {1, 2, 3, 4, 5, 6, 7, 8});
  const Replicates replicates = fitted.bootstrap(60, bootstrap_seed, 2);
  EXPECT_EQ(std::set<int>(replicates.integers.begin(), replicates.integers.end()),
            std::set<int>{4});
}

TEST(Bootstrap, IsNotBlownUpByDisturbedSamples) {
  const Fit clean = fit(paper_model(native), synthetic::joint(native, 8), {4});
  const Fit disturbed = fit(paper_model(native), synthetic::joint(native, 8, 0.03, 0.08), {4});
  const Eigen::RowVectorXd before =
      deviation_of_logs(clean.bootstrap(200, bootstrap_seed, 2).values);
  const Eigen::RowVectorXd after =
      deviation_of_logs(disturbed.bootstrap(200, bootstrap_seed, 2).values);
  EXPECT_TRUE(after.allFinite());
  for (Eigen::Index i = 0; i < 7; ++i) {
    EXPECT_LT(after[i] / before[i], 1.8) << i;
    EXPECT_GT(after[i] / before[i], 0.7) << i;
  }
}

TEST(Bootstrap, WidensWhereTheFormIsWrong) {
  const auto wrong = [](double n, double gpus) {
    return native.seconds(n, gpus) * (1 + 0.04 * (gpus - 1)) + 2e-5 * gpus * gpus;
  };
  synthetic::Noisy noisy(9, 0.01);
  synthetic::Samples samples;
  synthetic::add_steps(samples, wrong, noisy);
  const Fit misfit = fit(paper_model(native), samples.observations(), {4});
  const Fit right = fit(paper_model(native), synthetic::steps_alone(native, 9, 0.01), {4});
  const double widened =
      deviation_of_logs(misfit.bootstrap(200, bootstrap_seed, 2).values)[synthetic::t_gpu];
  const double narrow =
      deviation_of_logs(right.bootstrap(200, bootstrap_seed, 2).values)[synthetic::t_gpu];
  EXPECT_GT(widened, 1.5 * narrow);
}

TEST(Bootstrap, OfSingleTimingsDrawsFromTheirResiduals) {
  const Fit fitted =
      fit(paper_model(native), synthetic::steps_alone(native, 10, 0.03, 0.0, 1), {4});
  const Replicates replicates = fitted.bootstrap(200, bootstrap_seed, 2);
  const double spread = deviation_of_logs(replicates.values)[synthetic::t_gpu];
  EXPECT_NEAR(spread / fitted.identification.relative_error[synthetic::t_gpu], 1.0, 0.5);
}

TEST(Bootstrap, OfNothingIsEmpty) {
  const Fit fitted = fit(paper_model(native), synthetic::joint(native, 1), {4});
  const Replicates none = fitted.bootstrap(0, bootstrap_seed, 2);
  EXPECT_EQ(none.values.rows(), 0);
  EXPECT_TRUE(none.integers.empty());
}

// ---- random numbers ----

TEST(Random, IsUniformInZeroToOne) {
  Random random(7);
  constexpr int draws = 100000;
  std::array<int, 10> bins{};
  for (int i = 0; i < draws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins.at(static_cast<std::size_t>(u * 10));
  }
  double chi_square = 0;
  for (const int count : bins)
    chi_square += std::pow(count - draws / 10.0, 2) / (draws / 10.0);
  EXPECT_LT(chi_square, 27.9);  // 0.999 quantile of chi-square with 9 degrees of freedom
}

TEST(Random, BelowReachesEveryNumberBelowAndNoOther) {
  Random random(8);
  std::array<int, 7> seen{};
  for (int i = 0; i < 1000; ++i)
    ++seen.at(random.below(7));
  for (const int count : seen)
    EXPECT_GT(count, 80);
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(9);
  constexpr int draws = 100000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / draws, 0, 4 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1, 4 * std::sqrt(2.0 / draws));
}

TEST(Random, RepeatsASeedAndKeepsStreamsApart) {
  Random one(1, 5);
  Random same(1, 5);
  Random stream(1, 6);
  Random seed(2, 5);
  Random far(1, 5 + (std::uint64_t{1} << 32U));
  const double first = one.uniform();
  EXPECT_EQ(first, same.uniform());
  EXPECT_NE(first, stream.uniform());
  EXPECT_NE(first, seed.uniform());
  EXPECT_NE(first, far.uniform());
}

}  // namespace
}  // namespace gpucast::fit

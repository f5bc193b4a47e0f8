#include "gpucast/fit/estimate.h"

#include <gtest/gtest.h>

#include "gpucast/fit/robust.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;
using synthetic::step;

Estimate fit_of(const model::StepModel& model, const Observations& observations) {
  return estimate(model, observations, start_values(model, observations));
}

double largest_difference(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

TEST(Estimate, GivesTheParametersOfExactDataBack) {
  for (const auto& truth : synthetic::all_truths) {
    const model::StepModel model = paper_model(truth);
    const Estimate fit = fit_of(model, synthetic::joint(truth, 1, 0.0));
    const Eigen::VectorXd values = values_from_log(model, fit.z);
    EXPECT_TRUE(fit.converged);
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(values[static_cast<Eigen::Index>(i)] / truth.values()[i], 1.0, 1e-6)
          << model.parameter_list()[i].name << ", c " << truth.c;
    }
  }
}

TEST(Estimate, GivesWhatStepsAloneIdentifyBack) {
  const Estimate fit = fit_of(paper_model(native), synthetic::steps_alone(native, 1, 0.0));
  const Eigen::VectorXd u = fit.z.array().exp();
  EXPECT_NEAR(u[synthetic::t_gpu] / native.t_gpu, 1.0, 1e-6);
  EXPECT_NEAR(u[synthetic::B_h2d] * native.B_h2d, 1.0, 1e-6);
  EXPECT_NEAR((u[synthetic::t_cpu] + 12 * u[synthetic::B_d2h]) / (native.t_cpu + 12 / native.B_d2h),
              1.0, 1e-6);
  EXPECT_NEAR((u[synthetic::t_kernel] + u[synthetic::L_h2d] + u[synthetic::L_d2h]) /
                  (native.t_kernel + native.L_h2d + native.L_d2h),
              1.0, 1e-6);
}

TEST(Estimate, FitsTheOccupancyTermAroundItsExponent) {
  const model::StepModel model(
      model::StepTerms{model::Occupancy{}, model::Linear{}, model::Allgather{}},
      {.cores = 1, .sms = 12, .block = 256}, 1, {});
  const auto seconds = [](double n, double gpus) {
    const double w = std::ceil(std::ceil(std::ceil(n / gpus) / 256) / 12);
    const double join = std::pow(std::pow(6e-9, 4) + std::pow(w * 3e-9, 4), 0.25);
    return 2e-5 + n * join + 4e-8 * n + (gpus - 1) * (5e-6 + 16 * n / gpus / 2e10) + gpus * 1e-5;
  };
  synthetic::Noisy exact(1, 0);
  synthetic::Samples samples;
  synthetic::add_steps(samples, seconds, exact);
  const Observations observations = samples.observations();
  Eigen::VectorXd start = start_values(model, observations);
  start[3] = std::log(4.0);
  const Estimate fit =
      estimate(model, observations, start, {}, 1e-10, Loss::tukey, Times::formulas, Numbers::held);
  EXPECT_EQ(fit.z[3], start[3]);
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    const Cell& cell = observations.cells()[j];
    EXPECT_NEAR(fit.log_fit[static_cast<Eigen::Index>(j)], std::log(seconds(cell.n, cell.gpus)),
                1e-6);
  }
  EXPECT_NEAR(std::exp(fit.z[2]) / 3e-9, 1.0, 1e-4);  // t_blk
  EXPECT_NEAR(std::exp(fit.z[3]), 4.0, 1e-2);         // p
}

// Robust cost of the paper's model, its equations taken from the oracle.
double robust_cost(const Observations& observations, const Estimate& fit,
                   const Eigen::VectorXd& z) {
  const Eigen::VectorXd u = z.array().exp();
  synthetic::Truth at = native;
  at.t_gpu = u[synthetic::t_gpu];
  at.t_cpu = u[synthetic::t_cpu];
  at.t_kernel = u[synthetic::t_kernel];
  at.L_h2d = u[synthetic::L_h2d];
  at.B_h2d = 1 / u[synthetic::B_h2d];
  at.L_d2h = u[synthetic::L_d2h];
  at.B_d2h = 1 / u[synthetic::B_d2h];
  double cost = 0;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    const Cell& cell = observations.cells()[j];
    double seconds = 0;
    switch (cell.kind) {
      case Kind::step:
        seconds = at.seconds(cell.n, cell.gpus);
        break;
      case Kind::transfer:
        seconds = at.transfer(cell.route, cell.bytes);
        break;
      default:
        seconds = cell.count * at.t_kernel;
    }
    for (std::size_t i = observations.first(j); i < observations.first(j + 1); ++i) {
      const double residual = observations.log_seconds()[i] - std::log(seconds);
      cost += tukey_cost(residual / fit.sigma[group(cell)]);
    }
  }
  return cost;
}

TEST(Estimate, IsAStationaryPointOfTheRobustCost) {
  for (const double outliers : {0.0, 0.08}) {
    const Observations observations = synthetic::joint(native, 3, 0.03, outliers);
    const Estimate fit = fit_of(paper_model(native), observations);
    EXPECT_TRUE(fit.converged);
    const double cost = robust_cost(observations, fit, fit.z);
    EXPECT_NEAR(fit.cost, cost, 1e-9 * cost);
    for (Eigen::Index i = 0; i < 7; ++i) {
      // In units of the cost of a step of that size: a minimum has slope 0 and positive curvature.
      constexpr double h = 1e-3;
      const Eigen::VectorXd unit = Eigen::VectorXd::Unit(7, i);
      const double up = robust_cost(observations, fit, fit.z + h * unit);
      const double down = robust_cost(observations, fit, fit.z - h * unit);
      const double curvature = (up - 2 * cost + down) / (h * h);
      const double slope = (up - down) / (2 * h);
      EXPECT_GT(curvature, 0.0) << i;
      // Distance to the minimum along this axis, in standard errors.
      EXPECT_LT(std::abs(slope) / std::sqrt(curvature), 2e-4) << i;
    }
  }
}

TEST(Estimate, ScalesWithTheUnitOfTime) {
  const model::StepModel model = paper_model(native);
  const Observations seconds = synthetic::joint(native, 4);
  std::vector<double> shifted = seconds.log_seconds();
  for (double& log_time : shifted)
    log_time += std::log(7.0);
  const Estimate before = fit_of(model, seconds);
  const Estimate after = fit_of(model, seconds.with_log_seconds(shifted));
  const Eigen::VectorXd moved = after.z - before.z;
  EXPECT_LT((moved.array() - std::log(7.0)).abs().maxCoeff(), 1e-6);
  EXPECT_NEAR(after.cost, before.cost, 1e-6 * before.cost);
}

TEST(Estimate, DoesNotDependOnTheOrderOfSamples) {
  synthetic::Noisy noisy(5, 0.03);
  synthetic::Samples samples;
  synthetic::add_steps(samples, synthetic::steps_of(native), noisy);
  synthetic::add_microbenchmarks(samples, native, noisy);
  synthetic::Samples reversed = samples;
  std::ranges::reverse(reversed.cells);
  std::ranges::reverse(reversed.seconds);
  const model::StepModel model = paper_model(native);
  EXPECT_LT(largest_difference(fit_of(model, samples.observations()).z,
                               fit_of(model, reversed.observations()).z),
            1e-6);
}

TEST(Estimate, FindsTheScaleOfTheNoiseInEachGroup) {
  synthetic::Noisy steps(6, 0.05);
  synthetic::Noisy copies(7, 0.01);
  synthetic::Samples samples;
  synthetic::add_steps(samples, synthetic::steps_of(native), steps, 20);
  synthetic::add_microbenchmarks(samples, native, copies, 20);
  const Estimate fit = fit_of(paper_model(native), samples.observations());
  EXPECT_NEAR(fit.sigma[group(step(1, 1))], 0.05, 0.008);
  EXPECT_NEAR(fit.sigma[group(synthetic::transfer(model::Route::h2d, 1))], 0.01, 0.0025);
}

TEST(Estimate, IsHardlyMovedByEightPercentOfDisturbedSamples) {
  const model::StepModel model = paper_model(native);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Estimate clean = fit_of(model, synthetic::steps_alone(native, seed));
    const Estimate disturbed = fit_of(model, synthetic::steps_alone(native, seed, 0.03, 0.08));
    EXPECT_LT(largest_difference(disturbed.log_fit, clean.log_fit), 0.015) << "seed " << seed;
  }
}

TEST(Estimate, GivesDisturbedSamplesNoWeight) {
  synthetic::Noisy noisy(8, 0.03);
  synthetic::Samples samples;
  synthetic::add_steps(samples, synthetic::steps_of(native), noisy);
  std::vector<double> expected;
  for (std::size_t i = 0; i < samples.seconds.size(); i += 12) {
    samples.seconds[i] *= 2;
    expected.push_back(std::log(samples.seconds[i]));
  }
  const Observations observations = samples.observations();
  const Estimate fit = fit_of(paper_model(native), observations);
  for (std::size_t i = 0; i < observations.sample_count(); ++i)
    if (std::ranges::find(expected, observations.log_seconds()[i]) != expected.end()) {
      EXPECT_EQ(fit.weight[i], 0.0);
    }
}

TEST(Estimate, SurvivesACellWithMostOfItsSamplesDisturbed) {
  const model::StepModel model = paper_model(native);
  const Observations clean = synthetic::steps_alone(native, 9);
  const Estimate reference = fit_of(model, clean);
  for (std::size_t cell = 0; cell < clean.cell_count(); ++cell) {
    std::vector<double> log_seconds = clean.log_seconds();
    for (std::size_t i = 0; i < 3; ++i)
      log_seconds[clean.first(cell) + i] += std::log(2.0 + 0.5 * static_cast<double>(i));
    const Estimate fit = fit_of(model, clean.with_log_seconds(log_seconds));
    EXPECT_LT(largest_difference(fit.log_fit, reference.log_fit), 0.02)
        << "n " << clean.cells()[cell].n << ", gpus " << clean.cells()[cell].gpus;
  }
}

TEST(Estimate, LeavesAParameterThatIsZeroInTruthWithoutAShare) {
  synthetic::Truth truth = native;
  truth.t_cpu = 0;
  const model::StepModel model = paper_model(truth);
  for (const double sigma : {0.0, 0.03}) {
    const Observations observations = synthetic::joint(truth, 10, sigma);
    const Estimate fit = fit_of(model, observations);
    ASSERT_TRUE(fit.z.allFinite());
    for (std::size_t j = 0; j < observations.cell_count(); ++j) {
      const Cell& cell = observations.cells()[j];
      if (cell.kind == Kind::step) {
        const double share = std::exp(fit.z[synthetic::t_cpu]) * cell.n /
                             std::exp(fit.log_fit[static_cast<Eigen::Index>(j)]);
        EXPECT_GT(share, 0.0);
        EXPECT_LT(share, sigma == 0 ? 1e-6 : 0.05);
      }
    }
  }
}

TEST(Estimate, TakesASingleSample) {
  synthetic::Samples samples;
  samples.add(step(8000, 2), 0.0123);
  const Estimate fit = fit_of(paper_model(native), samples.observations());
  EXPECT_TRUE(fit.z.allFinite());
  EXPECT_NEAR(fit.log_fit[0], std::log(0.0123), 1e-6);
  EXPECT_GT(fit.sigma[0], 0.0);
}

TEST(Estimate, TakesRepetitionsWithoutAnyNoise) {
  const Observations observations = synthetic::steps_alone(native, 1, 0.0);
  const Estimate fit = fit_of(paper_model(native), observations);
  EXPECT_TRUE(fit.converged);
  for (const double weight : fit.weight)
    EXPECT_GT(weight, 0.99);
  EXPECT_LT(fit.cost, 1e-3);
}

TEST(Estimate, UsesTheScalesItIsGiven) {
  const model::StepModel model = paper_model(native);
  const Observations observations = synthetic::joint(native, 11);
  Scales scales{};
  scales.fill(0.04);
  const Estimate fit = estimate(model, observations, start_values(model, observations), scales);
  EXPECT_EQ(fit.sigma, scales);
  EXPECT_NEAR(robust_cost(observations, fit, fit.z), fit.cost, 1e-9 * fit.cost);
}

TEST(Estimate, RoundedTimesCountByTheirRounding) {
  // One combination of GPU count and size is known to 1e-3 only, with an error of that size; the
  // others are exact.
  const model::StepModel model(std::nullopt, {}, 1, [] {
    model::TransferCurves curves;
    curves[static_cast<std::size_t>(model::Route::h2d)] = model::TransferCurve{};
    return curves;
  }());
  std::vector<Cell> cells;
  std::vector<double> seconds;
  std::vector<double> variance;
  synthetic::Noisy noisy(12, 1e-3);
  for (const double bytes : synthetic::transfer_sizes) {
    cells.push_back(synthetic::transfer(model::Route::h2d, bytes));
    const bool rounded = bytes < 1e4;
    const double time = native.transfer(model::Route::h2d, bytes);
    seconds.push_back(noisy(time) * (rounded ? 1.3 : 1.0));
    variance.push_back(rounded ? 0.3 * 0.3 : 0.0);
  }
  const Observations observations(cells, seconds, variance);
  const Estimate fit = fit_of(model, observations);
  // L follows the exact times of middle size, not the rounded ones of small size.
  EXPECT_NEAR(std::exp(fit.z[0]) / native.L_h2d, 1.0, 0.01);
  EXPECT_NEAR(std::exp(-fit.z[1]) / native.B_h2d, 1.0, 0.01);
  EXPECT_NEAR(sample_sigma(observations, fit.sigma, 0, 0), 0.3, 0.001);
}

TEST(StartValues, AreNearTheSolutionOfExactData) {
  const model::StepModel model = paper_model(native);
  const Observations observations = synthetic::joint(native, 1, 0.0);
  const Eigen::VectorXd values = values_from_log(model, start_values(model, observations));
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_NEAR(values[static_cast<Eigen::Index>(i)] / native.values()[i], 1.0, 1e-6);
}

TEST(StartValues, ArePositiveAndFiniteForParametersNoCellDependsOn) {
  synthetic::Samples samples;
  samples.add(synthetic::launch(10), 8e-5);
  const Eigen::VectorXd z = start_values(paper_model(native), samples.observations());
  EXPECT_TRUE(z.allFinite());
  EXPECT_NEAR(std::exp(z[synthetic::t_kernel]), 8e-6, 1e-12);
}

}  // namespace
}  // namespace gpucast::fit

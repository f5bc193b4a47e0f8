// Pure numbers have priors: if the data determine them, priors hardly matter; otherwise priors
// decide the estimate, its errors and its replicates.
#include <gtest/gtest.h>

#include "gpucast/fit/estimate.h"
#include "gpucast/fit/robust.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

// Host work that bends: its parameters in the model's order, after T_gpu's.
enum : std::uint8_t { t_step = 1, t_cpu, r, n_c };
constexpr double true_step = 1e-6;
constexpr double true_particle = 1e-8;
constexpr double true_growth = 2;
constexpr double true_cache = 5e4;

// The formulas of terms/cpu.h and term.h, written out again.
double host(double step, double particle, double growth, double cache, double n) {
  return step + n * particle * (1 + growth * n / (n + cache));
}

constexpr double growth_median = 1;
constexpr double growth_sd = .5;
constexpr double cache_median = 1e5;
constexpr double cache_sd = .7;

model::StepModel bent() {
  return {model::StepTerms{model::Wave{}, model::Bent{}, model::StarSerial{}},
          model::Machine{.cores = 2304},
          4,
          {}};
}

Observations host_times(const std::vector<double>& sizes, double sigma, std::uint64_t seed) {
  synthetic::Noisy noisy(seed, sigma);
  synthetic::Samples samples;
  for (const double n : sizes) {
    for (int repetition = 0; repetition < 5; ++repetition) {
      samples.add({.kind = Kind::cpu, .n = n},
                  noisy(host(true_step, true_particle, true_growth, true_cache, n)));
    }
  }
  return samples.observations();
}

// Far below any cache, and across it.
const std::vector<double> small{2, 4, 8, 16, 32, 64, 128};
const std::vector<double> across{100, 1000, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6};

TEST(NumberPriors, AreWhatIsLeftWhereNoDataTell) {
  const Fit fitted = fit(bent(), host_times(small, .03, 1), {4});
  const Eigen::VectorXd values = fitted.values();
  EXPECT_NEAR(std::log(values[r] / growth_median), 0, .1 * growth_sd);
  EXPECT_NEAR(std::log(values[n_c] / cache_median), 0, .1 * cache_sd);
  EXPECT_NEAR(values[t_cpu] / true_particle, 1, .05);
  EXPECT_NEAR(fitted.identification.relative_error[r], growth_sd, .02);
  EXPECT_NEAR(fitted.identification.relative_error[n_c], cache_sd, .02);
}

TEST(NumberPriors, OfNumbersThatChangeNoTimeLeaveNoneKnown) {
  // Two particles are so far below any cache that what the bend adds is less than a millionth.
  const Fit fitted = fit(bent(), host_times({1, 2}, 1e-3, 4), {4});
  EXPECT_TRUE(fitted.identification.identified[t_step]);
  EXPECT_TRUE(fitted.identification.identified[t_cpu]);
  EXPECT_FALSE(fitted.identification.identified[r]);
  EXPECT_FALSE(fitted.identification.identified[n_c]);
  EXPECT_TRUE(fitted.identification.observed[r]);
  EXPECT_TRUE(fitted.identification.combinations.empty());
}

TEST(NumberPriors, HardlyMatterWhereDataTell) {
  const Fit fitted = fit(bent(), host_times(across, 1e-4, 2), {4});
  const Eigen::VectorXd values = fitted.values();
  EXPECT_NEAR(values[r] / true_growth, 1, 5e-3);
  EXPECT_NEAR(values[n_c] / true_cache, 1, 5e-3);
}

TEST(NumberPriors, AddToTheRobustCostThatTheEstimateMinimizes) {
  const Observations observations = host_times(across, .1, 3);
  const Fit fitted = fit(bent(), observations, {4});
  const Estimate& at = fitted.estimate();
  const auto cost = [&](const Eigen::VectorXd& z) {
    const double growth_off = (z[r] - std::log(growth_median)) / growth_sd;
    const double cache_off = (z[n_c] - std::log(cache_median)) / cache_sd;
    double sum = .5 * growth_off * growth_off + .5 * cache_off * cache_off;
    for (std::size_t j = 0; j < observations.cell_count(); ++j) {
      const Cell& cell = observations.cells()[j];
      const double seconds =
          host(std::exp(z[t_step]), std::exp(z[t_cpu]), std::exp(z[r]), std::exp(z[n_c]), cell.n);
      for (const std::size_t i : observations.samples(j)) {
        sum +=
            tukey_cost((observations.log_seconds()[i] - std::log(seconds)) / at.sigma[group(cell)]);
      }
    }
    return sum;
  };
  EXPECT_NEAR(cost(at.z), at.cost, 1e-9 * at.cost);
  for (const Eigen::Index i : {t_step, t_cpu, r, n_c}) {
    for (const double step : {-.01, .01}) {
      Eigen::VectorXd moved = at.z;
      moved[i] += step;
      EXPECT_GT(cost(moved), at.cost) << i;
    }
  }
}

// If cells happen to scatter more than their samples, replicates do, too, but standard errors do
// not.
Fit without_spread_between_cells(const std::vector<double>& sizes) {
  for (std::uint64_t seed = 1;; ++seed) {
    Fit fitted = fit(bent(), host_times(sizes, .03, seed), {4});
    if (fitted.noise[group({.kind = Kind::cpu})].between_cells == 0) return fitted;
  }
}

TEST(NumberPriors, MakeReplicatesAsFarApartAsStandardErrorsSay) {
  for (const auto& sizes : {small, across}) {
    const Fit fitted = without_spread_between_cells(sizes);
    const Replicates replicates = fitted.bootstrap(400, 1, 2);
    for (const Eigen::Index i : {t_cpu, r, n_c}) {
      const Eigen::ArrayXd logs = replicates.values.col(i).array().log();
      const double spread = std::sqrt((logs - logs.mean()).square().mean());
      // 400 draws determine a spread to 4 %; standard errors assume linear times.
      EXPECT_NEAR(spread / fitted.identification.relative_error[static_cast<std::size_t>(i)], 1,
                  .25)
          << i << " of " << sizes.size() << " sizes";
    }
  }
}

// Robust cost of all samples at some parameters, and of the priors.
double cost_at(const model::StepModel& model, const Observations& observations,
               const Scales& scales, const Eigen::VectorXd& z) {
  Eigen::VectorXd log_time(static_cast<Eigen::Index>(observations.cell_count()));
  evaluate(model, observations.cells(), z.data(), log_time.data(), nullptr);
  double sum = cost(number_priors(model), z);
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    for (const std::size_t i : observations.samples(j)) {
      const double off = observations.log_seconds()[i] - log_time[static_cast<Eigen::Index>(j)];
      sum += tukey_cost(off / sample_sigma(observations, scales, j, i));
    }
  }
  return sum;
}

// Copies of a few bytes take longer than somewhat larger ones: the slope of their piece of the
// curve is zero, at the end of its range. The bend is hardly determined at the same time, so that
// the fit moves with every reweighting.
TEST(NumberPriors, LetAFitSettleBesideAParameterThatIsZero) {
  constexpr double latency = 1.4e-6;
  constexpr double throughput = 17e9;
  constexpr double break_at = 95;
  synthetic::Noisy noisy(3, .01, .05);
  synthetic::Samples samples;
  const auto step_seconds = [&](double n, double gpus) {
    return std::ceil(n / (4 * 2304 * gpus)) * n * 4 * 2304 * synthetic::native.t_gpu +
           host(true_step, true_particle, true_growth, true_cache, n) +
           gpus * (latency + 16 * n / throughput + 1e-5 + 3e-6) + 12 * n / 1e10;
  };
  synthetic::add_steps(samples, step_seconds, noisy, 15);
  for (int repetition = 0; repetition < 15; ++repetition) {
    for (const double bytes : {4., 8., 16., 32., 64., 1e3, 4e3, 16e3, 64e3, 1e6, 1e7}) {
      const double longer = bytes < break_at ? 1.05 : 1;
      samples.add(synthetic::transfer(model::Route::h2d, bytes),
                  noisy(longer * (latency + bytes / throughput)));
      samples.add(synthetic::transfer(model::Route::d2h, bytes), noisy(1e-5 + bytes / 1e10));
    }
    samples.add(synthetic::launch(10), noisy(3e-5));
  }
  const Observations observations = samples.observations();
  model::TransferCurves curves;
  curves[static_cast<std::size_t>(model::Route::h2d)] = model::TransferCurve{{break_at}};
  curves[static_cast<std::size_t>(model::Route::d2h)] = model::TransferCurve{};
  const model::StepModel model(model::StepTerms{model::Wave{}, model::Bent{}, model::StarSerial{}},
                               {.cores = 2304}, 4, curves);
  const Estimate fitted = estimate(model, observations, start_values(model, observations));
  EXPECT_TRUE(fitted.converged);
  const double least = cost_at(model, observations, fitted.sigma, fitted.z);
  EXPECT_NEAR(fitted.cost, least, 1e-9 * least);
  for (Eigen::Index i = 0; i < fitted.z.size(); ++i) {
    const auto& parameter = model.parameter_list()[static_cast<std::size_t>(i)];
    const auto moved = [&](double by) {
      return cost_at(model, observations, fitted.sigma,
                     fitted.z + by * Eigen::VectorXd::Unit(fitted.z.size(), i));
    };
    if (parameter.name == "B_h2d_1") {
      EXPECT_LT(break_at * std::exp(fitted.z[i]), 1e-6 * latency);
      EXPECT_GT(moved(10), least);
      continue;
    }
    constexpr double h = 1e-3;
    const double curvature = (moved(h) - 2 * least + moved(-h)) / (h * h);
    EXPECT_GT(curvature, 0) << parameter.name;
    // Distance to the minimum along this axis, in standard errors.
    const double slope = (moved(h) - moved(-h)) / (2 * h);
    EXPECT_LT(std::abs(slope) / std::sqrt(curvature), 1e-3) << parameter.name;
  }
}

}  // namespace
}  // namespace gpucast::fit


#include <gtest/gtest.h>

#include "gpucast/fit/robust.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;

// 0.99 quantile of F with 24 and 100 degrees of freedom, from tables: 28 cells less 4 parameters,
// and 112 repetitions less the reduction by robust weights.
constexpr double f_99 = 1.98;

Noise step_noise(const Observations& observations) {
  return fit(paper_model(native), observations, {native.k}).noise[0];
}

TEST(Noise, OfTheTrueModelIsPureErrorAndFNearOne) {
  constexpr int data_sets = 400;
  double f = 0;
  double pure_variance = 0;
  int false_alarms = 0;
  for (std::uint64_t seed = 1; seed <= data_sets; ++seed) {
    const Noise noise = step_noise(synthetic::steps_alone(native, seed));
    f += noise.lack_of_fit.f / data_sets;
    pure_variance += noise.pure_error * noise.pure_error / data_sets;
    false_alarms += noise.lack_of_fit.f > f_99 ? 1 : 0;
    EXPECT_NEAR(noise.lack_of_fit.freedom, 24, 1e-6);
    EXPECT_GT(noise.lack_of_fit.pure_freedom, 90);
    EXPECT_LE(noise.lack_of_fit.pure_freedom, 112);
  }
  EXPECT_NEAR(std::sqrt(pure_variance), 0.03, 0.001);
  EXPECT_NEAR(f, 1.02, 0.08);   // F has mean d / (d - 2), d = 100
  EXPECT_LE(false_alarms, 12);  // 3 %; 1 % expected
}

TEST(Noise, OfTheTrueModelRaisesNoAlarmForDisturbedSamples) {
  int false_alarms = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Noise noise = step_noise(synthetic::steps_alone(native, seed, 0.03, 0.08));
    false_alarms += noise.lack_of_fit.f > f_99 ? 1 : 0;
    EXPECT_NEAR(noise.pure_error, 0.03, 0.012) << "seed " << seed;
  }
  EXPECT_LE(false_alarms, 6);  // 3 %; 1 % expected
}

TEST(Noise, OfAWrongModelHasALargeF) {
  // 4 % imbalance per further GPU and a synchronization that grows with N^2.
  const auto wrong = [](double n, double gpus) {
    return native.seconds(n, gpus) * (1 + 0.04 * (gpus - 1)) + 2e-5 * gpus * gpus;
  };
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    synthetic::Noisy noisy(seed, 0.03);
    synthetic::Samples samples;
    synthetic::add_steps(samples, wrong, noisy);
    const Noise noise = step_noise(samples.observations());
    alarms += noise.lack_of_fit.f > f_99 ? 1 : 0;
  }
  EXPECT_GE(alarms, 36);
}

double misfit(const Observations& observations, const std::string& name) {
  const Fit fitted = fit(paper_model(native), observations, {native.k});
  for (const Misfit& entry : fitted.misfits)
    if (entry.name == name) return entry.test.f;
  ADD_FAILURE() << "no direction " << name;
  return 0;
}

TEST(Misfit, OfTheTrueModelIsFNearOne) {
  constexpr int data_sets = 300;
  double any = 0;
  double imbalance = 0;
  for (std::uint64_t seed = 1; seed <= data_sets; ++seed) {
    const Observations observations = synthetic::steps_alone(native, seed);
    any += misfit(observations, "any") / data_sets;
    imbalance += misfit(observations, "imbalance") / data_sets;
  }
  EXPECT_NEAR(any, 1.02, 0.2);
  EXPECT_NEAR(imbalance, 1.02, 0.3);
}

TEST(Misfit, IsLargestAlongTheDirectionThatIsMissing) {
  const auto unbalanced = [](double n, double gpus) {
    return native.seconds(n, gpus) + native.gpu(n, gpus) * 0.06 * (gpus - 1);
  };
  const auto synchronized = [](double n, double gpus) {
    return native.seconds(n, gpus) + 2e-5 * gpus * gpus;
  };
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    synthetic::Noisy noisy(seed, 0.03);
    synthetic::Samples first;
    synthetic::add_steps(first, unbalanced, noisy);
    synthetic::Samples second;
    synthetic::add_steps(second, synchronized, noisy);
    right +=
        misfit(first.observations(), "imbalance") > misfit(first.observations(), "synchronization")
            ? 1
            : 0;
    right += misfit(second.observations(), "synchronization") >
                     misfit(second.observations(), "imbalance")
                 ? 1
                 : 0;
  }
  EXPECT_GE(right, 38);  // of 40
}

TEST(Misfit, IsEmptyWithoutRepetitions) {
  const Observations once = synthetic::steps_alone(native, 1, 0.03, 0, 1);
  EXPECT_TRUE(fit(paper_model(native), once, {native.k}).misfits.empty());
}

// Step times whose cells have a spread of their own.
Observations with_cell_spread(std::uint64_t seed, double tau) {
  synthetic::Noisy cells(seed + 1000, tau);
  synthetic::Noisy noisy(seed, 0.03);
  synthetic::Samples samples;
  for (const double n : synthetic::n_grid) {
    for (const double gpus : synthetic::gpu_grid) {
      const double seconds = cells(native.seconds(n, gpus));
      for (int repetition = 0; repetition < 5; ++repetition)
        samples.add(synthetic::step(n, gpus), noisy(seconds));
    }
  }
  return samples.observations();
}

TEST(Noise, FindsTheSpreadBetweenCells) {
  for (const double tau : {0.03, 0.06}) {
    double variance = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const Noise noise = step_noise(with_cell_spread(seed, tau));
      variance += noise.between_cells * noise.between_cells / 100;
      EXPECT_NEAR(noise.pure_error, 0.03, 0.012);
    }
    EXPECT_NEAR(std::sqrt(variance) / tau, 1.0, 0.15) << tau;
  }
}

TEST(Noise, BetweenCellsIsMostlyZeroWhereThereIsNone) {
  int zero = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Noise noise = step_noise(synthetic::steps_alone(native, seed));
    zero += noise.between_cells == 0 ? 1 : 0;
    EXPECT_LT(noise.between_cells, 0.02);
  }
  EXPECT_GE(zero, 70);  // F exceeds 1 by more than its standard deviation in about one in six
}

TEST(Noise, WithoutRepetitionsTellsNothingApart) {
  const Noise noise = step_noise(synthetic::steps_alone(native, 1, 0.03, 0.0, 1));
  EXPECT_TRUE(std::isnan(noise.pure_error));
  EXPECT_TRUE(std::isnan(noise.lack_of_fit.f));
  EXPECT_EQ(noise.between_cells, 0.0);
  EXPECT_GT(noise.total, 0.0);
}

TEST(Noise, WithAsManyParametersAsCellsHasNoF) {
  synthetic::Noisy noisy(1, 0.03);
  synthetic::Samples samples;
  synthetic::add_steps(samples, synthetic::steps_of(native), noisy, 5,
                       std::vector<double>{1000, 30000}, std::vector<double>{1, 2});
  const Noise noise = step_noise(samples.observations());
  EXPECT_TRUE(std::isnan(noise.lack_of_fit.f));
  EXPECT_NEAR(noise.pure_error, 0.03, 0.02);
}

TEST(Noise, OfIdenticalRepetitionsIsFiniteAndHasNoLackOfFit) {
  const Noise noise = step_noise(synthetic::steps_alone(native, 1, 0.0));
  EXPECT_TRUE(std::isfinite(noise.pure_error));
  EXPECT_GT(noise.pure_error, 0.0);
  EXPECT_LT(noise.pure_error, 1e-6);
  EXPECT_LT(noise.between_cells, 1e-6);
}

TEST(Leverage, OfAllGroupsSumsToTheRank) {
  const model::StepModel model = paper_model(native);
  for (const bool microbenchmarks : {false, true}) {
    const Observations observations =
        microbenchmarks ? synthetic::joint(native, 2) : synthetic::steps_alone(native, 2);
    const Estimate at = estimate(model, observations, start_values(model, observations));
    double sum = 0;
    for (const double part : leverage(model, observations, at)) {
      EXPECT_GE(part, 0.0);
      sum += part;
    }
    EXPECT_NEAR(sum, microbenchmarks ? 7.0 : 4.0, 1e-9);
  }
}

// ---- pure error ----

constexpr std::size_t steps = group({.kind = Kind::step});

// Cells of one size each with arbitrary times: there is no model behind them.
synthetic::Samples scattered(int cells, int repetitions, synthetic::Noisy& noisy) {
  synthetic::Samples samples;
  for (int cell = 0; cell < cells; ++cell) {
    const double seconds = std::exp(noisy.normal());
    for (int repetition = 0; repetition < repetitions; ++repetition)
      samples.add(synthetic::step(cell + 1, 1), noisy(seconds));
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
  for (const double factor : {1.0, 1.9, 2.4, 1.005, 3.3})
    samples.add(synthetic::step(1000, 1), truth * factor);
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
  for (int repetition = 0; repetition < 50; ++repetition)
    samples.add(synthetic::launch(10), std::exp(noisy.normal()));
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

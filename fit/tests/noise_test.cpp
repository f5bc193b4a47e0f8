#include "gpucast/fit/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpucast/fit/fit.h"
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
  for (const Misfit& entry : fitted.misfits) {
    if (entry.name == name) {
      return entry.test.f;
    }
  }
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
      for (int repetition = 0; repetition < 5; ++repetition) {
        samples.add(synthetic::step(n, gpus), noisy(seconds));
      }
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

}  // namespace
}  // namespace gpucast::fit

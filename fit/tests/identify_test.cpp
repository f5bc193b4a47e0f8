#include "gpucast/fit/identify.h"

#include <gtest/gtest.h>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;

struct Fitted {
  model::StepModel model;
  Observations observations;
  Estimate estimate;
  Identification identification;

  Fitted(model::StepModel step_model, Observations from)
      : model(std::move(step_model)),
        observations(std::move(from)),
        estimate(fit::estimate(model, observations, start_values(model, observations))),
        identification(identify(model, observations, estimate)) {}

  std::vector<std::string> expressions() const {
    std::vector<std::string> result;
    for (const auto& combination : identification.combinations)
      result.push_back(combination.expression(model.parameter_list()));
    return result;
  }
};

using Expressions = std::vector<std::string>;

TEST(Identify, StepsAloneTellFourOfSevenApart) {
  for (const auto& truth : synthetic::all_truths) {
    for (const double sigma : {0.0, 0.03}) {
      const Fitted fitted(paper_model(truth), synthetic::steps_alone(truth, 2, sigma));
      EXPECT_EQ(fitted.identification.rank, 4U);
      // t_gpu, t_cpu, t_kernel, L_h2d, B_h2d, L_d2h, B_d2h
      EXPECT_EQ(fitted.identification.identified,
                (std::vector<bool>{true, false, false, false, true, false, false}));
      EXPECT_EQ(fitted.identification.observed, std::vector<bool>(7, true));
      EXPECT_EQ(fitted.expressions(),
                (Expressions{"t_cpu + 12/B_d2h", "t_kernel + L_h2d + L_d2h"}));
    }
  }
}

TEST(Identify, RefusesStandardErrorsOfWhatIsNotIdentified) {
  const Fitted fitted(paper_model(native), synthetic::steps_alone(native, 3));
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(std::isfinite(fitted.identification.relative_error[i]),
              fitted.identification.identified[i])
        << i;
  }
  for (const double error : fitted.identification.combination_error) {
    EXPECT_GT(error, 0.0);
    EXPECT_TRUE(std::isfinite(error));
  }
}

TEST(Identify, MicrobenchmarksTellAllApart) {
  for (const auto& truth : synthetic::all_truths) {
    const Fitted fitted(paper_model(truth), synthetic::joint(truth, 4));
    EXPECT_EQ(fitted.identification.rank, 7U);
    EXPECT_EQ(fitted.identification.identified, std::vector<bool>(7, true));
    EXPECT_TRUE(fitted.identification.combinations.empty());
    for (const double error : fitted.identification.relative_error)
      EXPECT_GT(error, 0.0);
  }
}

TEST(Identify, OneGpuCountMixesThroughputsWithTheHost) {
  synthetic::Noisy noisy(5, 0.03);
  synthetic::Samples samples;
  synthetic::add_steps(samples, synthetic::steps_of(native), noisy, 5, synthetic::n_grid,
                       synthetic::one_gpu);
  const Fitted fitted(paper_model(native), samples.observations());
  EXPECT_EQ(fitted.identification.rank, 3U);
  EXPECT_EQ(fitted.expressions(),
            (Expressions{"t_cpu + 16/B_h2d + 12/B_d2h", "t_kernel + L_h2d + L_d2h"}));
}

TEST(Identify, OneGpuNeitherTellsTheRootOfTheWorkFromTheHostNorSeesTheRing) {
  // All pairs: the root of n n interactions is n, and so is the host's share. Two GPUs tell.
  const model::StepModel model(model::StepTerms{model::Work{}, model::Linear{}, model::Allgather{}},
                               {}, 1, {});
  synthetic::Noisy noisy(6, 0.03);
  const auto seconds = [](double n, double) { return 2e-5 + 1e-11 * n * n + 4e-8 * n + 8e-6; };
  synthetic::Samples samples;
  synthetic::add_steps(samples, seconds, noisy, 5, synthetic::n_grid, synthetic::one_gpu);
  const Fitted fitted(model, samples.observations());
  EXPECT_EQ(fitted.expressions(), (Expressions{"t_0 + t_kernel", "t_root + t_cpu"}));
  // t_0, t_pair, t_root, t_cpu, t_kernel, L_peer, B_peer
  EXPECT_EQ(fitted.identification.observed,
            (std::vector<bool>{true, true, true, true, true, false, false}));
  EXPECT_EQ(fitted.identification.identified,
            (std::vector<bool>{false, true, false, false, false, false, false}));
  EXPECT_EQ(fitted.identification.rank, 3U);
  EXPECT_EQ(fitted.identification.largest_share[5], 0.0);
  EXPECT_GT(fitted.identification.largest_share[1], 0.5);
}

TEST(Identify, OneSampleLeavesOneCombination) {
  synthetic::Samples samples;
  samples.add(synthetic::transfer(model::Route::h2d, 4096), 2e-5);
  const Fitted fitted(paper_model(native), samples.observations());
  EXPECT_EQ(fitted.identification.rank, 1U);
  EXPECT_EQ(fitted.expressions(), Expressions{"L_h2d + 4096/B_h2d"});
}

TEST(Combination, HasTheValueOfItsLinearCoordinates) {
  const Fitted fitted(paper_model(native), synthetic::steps_alone(native, 1, 0.0));
  const std::vector<double> truth = native.values();
  const auto& parameters = fitted.model.parameter_list();
  ASSERT_EQ(fitted.identification.combinations.size(), 2U);
  EXPECT_NEAR(fitted.identification.combinations[0].value(parameters, truth.data()),
              4e-8 + 12 / 5e9, 1e-14);
  EXPECT_NEAR(fitted.identification.combinations[1].value(parameters, truth.data()), 31e-6, 1e-12);
}

TEST(Combination, IsWrittenAsPeopleWriteIt) {
  const model::StepModel model = paper_model(native);
  const auto& parameters = model.parameter_list();
  EXPECT_EQ((Combination{{{0, 1.0}, {4, -16.0}}}.expression(parameters)), "t_gpu - 16/B_h2d");
  EXPECT_EQ((Combination{{{4, 1.0}, {6, 0.75}}}.expression(parameters)), "1/B_h2d + 0.75/B_d2h");
  EXPECT_EQ((Combination{{{1, -1.0}, {2, 2.5}}}.expression(parameters)), "-t_cpu + 2.5 t_kernel");
}

// Mean and standard deviation.
struct Spread {
  double sum = 0;
  double squares = 0;
  double count = 0;

  void add(double x) {
    sum += x;
    squares += x * x;
    ++count;
  }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt((squares - sum * sum / count) / (count - 1)); }
};

TEST(Identify, StandardErrorsOfParametersAreTheSpreadOfEstimates) {
  std::vector<Spread> estimates(7);
  std::vector<Spread> errors(7);
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Fitted fitted(paper_model(native), synthetic::joint(native, seed));
    for (std::size_t i = 0; i < 7; ++i) {
      estimates[i].add(fitted.estimate.z[static_cast<Eigen::Index>(i)]);
      errors[i].add(fitted.identification.relative_error[i]);
    }
  }
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(errors[i].mean() / estimates[i].deviation(), 1.0, 0.15)
        << paper_model(native).parameter_list()[i].name;
  }
}

TEST(Identify, StandardErrorsOfCombinationsAreTheSpreadOfEstimates) {
  std::vector<Spread> estimates(2);
  std::vector<Spread> errors(2);
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Fitted fitted(paper_model(native), synthetic::steps_alone(native, seed));
    const Eigen::VectorXd u = fitted.estimate.z.array().exp();
    estimates[0].add(u[synthetic::t_cpu] + 12 * u[synthetic::B_d2h]);
    estimates[1].add(u[synthetic::t_kernel] + u[synthetic::L_h2d] + u[synthetic::L_d2h]);
    errors[0].add(fitted.identification.combination_error[0]);
    errors[1].add(fitted.identification.combination_error[1]);
  }
  EXPECT_NEAR(errors[0].mean() / estimates[0].deviation(), 1.0, 0.15);
  EXPECT_NEAR(errors[1].mean() / estimates[1].deviation(), 1.0, 0.15);
}

}  // namespace
}  // namespace gpucast::fit

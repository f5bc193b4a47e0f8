#include "gpucast/fit/structure.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/parallel.h"
#include "gpucast/fit/robust.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;

model::StepModel work_model() {
  return {model::StepTerms{model::Work{}, model::Linear{}, model::StarSerial{}},
          model::Machine{.cores = native.c},
          1,
          {}};
}

std::vector<Candidate> paper_and_work() {
  return {{paper_model(native), {1, 2, 3, 4, 5, 6}}, {work_model(), {1}}};
}

TEST(CrossValidate, PrefersTheTrueFormToAWrongOne) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto errors =
        cross_validate(paper_and_work(), synthetic::steps_alone(native, seed), 7, 1, 2);
    ASSERT_EQ(errors.size(), 2U);
    EXPECT_LT(median(errors[0]), 0.025);
    EXPECT_GT(median(errors[1]), 2 * median(errors[0]));
  }
}

TEST(CrossValidate, OfExactDataOfTheTrueFormHasNoError) {
  const auto errors = cross_validate({{paper_model(native), {4}}},
                                     synthetic::steps_alone(native, 1, 0.0), 14, 1, 1);
  for (const double error : errors[0])
    EXPECT_LT(error, 1e-4);
}

TEST(CrossValidate, IsTheSameForAnyNumberOfThreads) {
  const Observations observations = synthetic::steps_alone(native, 2);
  const auto one = cross_validate(paper_and_work(), observations, 7, 3, 1);
  EXPECT_EQ(cross_validate(paper_and_work(), observations, 7, 3, 2), one);
  EXPECT_EQ(cross_validate(paper_and_work(), observations, 7, 3, 3), one);
  EXPECT_NE(cross_validate(paper_and_work(), observations, 7, 4, 1), one);
}

TEST(CrossValidate, LeavesTheWholeCellOutThatItForecasts) {
  // As many folds as cells: the error of each cell is computed from a fit to all other cells.
  const Observations observations = synthetic::joint(native, 3);
  std::vector<std::size_t> steps;
  for (std::size_t j = 0; j < observations.cell_count(); ++j)
    if (observations.cells()[j].kind == Kind::step) steps.push_back(j);
  const auto errors =
      cross_validate({{paper_model(native), {4}}}, observations, steps.size(), 1, 2);
  ASSERT_EQ(errors[0].size(), steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::vector<bool> keep(observations.cell_count(), true);
    keep[steps[s]] = false;
    const Profile integers_tried = profile(paper_model(native), observations.subset(keep), {4});
    const Eigen::VectorXd values =
        values_from_log(paper_model(native), integers_tried.classes[0].estimate.z);
    const Cell& cell = observations.cells()[steps[s]];
    const double seconds =
        paper_model(native).step_seconds(values.data(), cell.n, cell.gpus).total();
    // Cross-validation stops its fits earlier.
    EXPECT_NEAR(errors[0][s], std::abs(std::log(seconds) - observations.median_log(steps[s])),
                1e-5);
  }
}

TEST(CrossValidate, HasNoFoldsToSpareForASingleCell) {
  synthetic::Samples samples;
  samples.add(synthetic::step(1000, 1), 1e-3);
  const auto errors = cross_validate({{paper_model(native), {4}}}, samples.observations(), 5, 1, 1);
  ASSERT_EQ(errors[0].size(), 1U);
  EXPECT_TRUE(std::isinf(errors[0][0]));
}

TEST(CrossValidate, OfTransfersAloneHasNothingToForecast) {
  synthetic::Noisy noisy(1, 0.03);
  synthetic::Samples samples;
  synthetic::add_microbenchmarks(samples, native, noisy);
  const auto errors = cross_validate({{paper_model(native), {4}}}, samples.observations(), 5, 1, 1);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors[0].empty());
}

// ---- work on several threads ----

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (const unsigned threads : {0U, 1U, 2U, 3U, 7U}) {
    for (const std::size_t grain : {1U, 8U, 1000U}) {
      for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 1001U}) {
        std::vector<std::atomic<int>> calls(count);
        parallel_for(count, threads, grain, [&](std::size_t i) { ++calls[i]; });
        for (const auto& call : calls)
          ASSERT_EQ(call, 1) << threads << " threads, grain " << grain << ", count " << count;
      }
    }
  }
}

TEST(ParallelFor, RethrowsAnExceptionOfAnyThread) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const std::size_t bad : {0U, 57U, 99U}) {
      EXPECT_THROW(parallel_for(100, threads, 1,
                                [&](std::size_t i) {
                                  if (i == bad) throw std::domain_error("this one");
                                }),
                   std::domain_error);
    }
  }
}

TEST(ParallelFor, StopsEarlyAfterAnException) {
  std::atomic<std::size_t> calls = 0;
  EXPECT_THROW(parallel_for(1000000, 2, 1,
                            [&](std::size_t) {
                              ++calls;
                              throw std::domain_error("every one");
                            }),
               std::domain_error);
  EXPECT_LE(calls, 2U);
}

}  // namespace
}  // namespace gpucast::fit

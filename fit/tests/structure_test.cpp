
#include <gtest/gtest.h>

#include <stdexcept>

#include "gpucast/fit/evaluate.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;

std::vector<int> up_to(int largest) {
  std::vector<int> result;
  for (int k = 1; k <= largest; ++k)
    result.push_back(k);
  return result;
}

bool contains(const std::vector<int>& members, int k) {
  return std::ranges::find(members, k) != members.end();
}

TEST(Profile, FindsKOfCleanData) {
  for (const auto& truth : synthetic::all_truths) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Profile integers_tried =
          profile(paper_model(truth), synthetic::steps_alone(truth, seed), up_to(16));
      EXPECT_EQ(integers_tried.classes[integers_tried.best].members, std::vector<int>{truth.k})
          << "c " << truth.c << ", seed " << seed;
    }
  }
}

TEST(Profile, FindsOtherKsToo) {
  for (const int k : {1, 2, 3, 5, 8}) {
    synthetic::Truth truth = native;
    truth.k = k;
    truth.t_gpu = native.t_gpu * 4 / k;
    const Profile integers_tried =
        profile(paper_model(truth), synthetic::steps_alone(truth, 1), up_to(12));
    EXPECT_TRUE(contains(integers_tried.classes[integers_tried.best].members, k)) << k;
  }
}

TEST(Profile, FindsKBesideDisturbedSamples) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Profile integers_tried =
        profile(paper_model(native), synthetic::steps_alone(native, seed, 0.03, 0.08), up_to(16));
    right += contains(integers_tried.classes[integers_tried.best].members, 4) ? 1 : 0;
  }
  EXPECT_GE(right, 19);
}

TEST(Profile, HoldsComparableCostsOfWhichTheTrueKHasTheLeast) {
  const Observations observations = synthetic::steps_alone(native, 3);
  const Profile integers_tried = profile(paper_model(native), observations, up_to(16));
  for (std::size_t i = 0; i < integers_tried.classes.size(); ++i) {
    EXPECT_EQ(integers_tried.classes[i].estimate.sigma,
              integers_tried.classes[integers_tried.best].estimate.sigma);
    if (i != integers_tried.best) {
      EXPECT_GT(integers_tried.classes[i].estimate.cost,
                integers_tried.classes[integers_tried.best].estimate.cost);
    }
  }
  // With half or twice the threads the misfit is far larger than 3 % noise.
  EXPECT_EQ(integers_tried.plausible(plausible_margin),
            std::vector<std::size_t>{integers_tried.best});
}

TEST(Profile, TakesIntegersWithEqualWavesAsOneClass) {
  synthetic::Truth truth = native;
  truth.c = 1000;
  synthetic::Noisy noisy(1, 0.03);
  synthetic::Samples samples;
  synthetic::add_steps(samples, synthetic::steps_of(truth), noisy, 5,
                       std::vector<double>{9000, 10000}, synthetic::one_gpu);
  const Profile integers_tried = profile(paper_model(truth), samples.observations(), up_to(12));
  std::vector<std::vector<int>> members;
  members.reserve(integers_tried.classes.size());
  for (const auto& entry : integers_tried.classes)
    members.push_back(entry.members);
  // Waves of (9000, 10000) particles on 1000 cores: k = 1 (9, 10), 2 (5, 5), 3 (3, 4), 4 (3, 3),
  // 5 ... 8 (2, 2), 9 (1, 2), 10 ... (1, 1). Equal up to a factor is one model.
  EXPECT_EQ(members,
            (std::vector<std::vector<int>>{{1}, {2, 4, 5, 6, 7, 8, 10, 11, 12}, {3}, {9}}));
}

TEST(Profile, TriesOneModelForTermsWithoutAnInteger) {
  const model::StepModel model(
      model::StepTerms{model::Work{}, model::Linear{}, model::StarSerial{}}, {}, 1, {});
  EXPECT_EQ(default_integers(model, 16), std::vector<int>{1});
  const Profile integers_tried = profile(model, synthetic::steps_alone(native, 1), up_to(4));
  ASSERT_EQ(integers_tried.classes.size(), 1U);
  EXPECT_EQ(integers_tried.classes[0].members, up_to(4));
}

TEST(Profile, OfTransfersAloneHasOneClass) {
  synthetic::Noisy noisy(1, 0.03);
  synthetic::Samples samples;
  synthetic::add_microbenchmarks(samples, native, noisy);
  const Profile integers_tried = profile(paper_model(native), samples.observations(), up_to(8));
  EXPECT_EQ(integers_tried.classes.size(), 1U);
}

TEST(Profile, OfNoIntegerIsRefused) {
  EXPECT_THROW(profile(paper_model(native), synthetic::steps_alone(native, 1), {}),
               std::invalid_argument);
}

TEST(DefaultIntegers, FollowTheGpuTerm) {
  EXPECT_EQ(default_integers(paper_model(native), 5), up_to(5));
  EXPECT_EQ(default_integers(paper_model(native), 0), up_to(1));
  const model::StepModel occupancy(
      model::StepTerms{model::Occupancy{}, model::Linear{}, model::StarSerial{}},
      {.cores = 1, .sms = 1, .block = 1}, 1, {});
  EXPECT_EQ(default_integers(occupancy, 5), std::vector<int>{1});
  const model::StepModel transfers(std::nullopt, {}, 1, {});
  EXPECT_EQ(default_integers(transfers, 5), std::vector<int>{1});
}

TEST(IntegerClass, IsRepresentedByItsGeometricMiddle) {
  EXPECT_EQ((IntegerClass{{4}, {}}.representative()), 4);
  EXPECT_EQ((IntegerClass{{4, 5, 9}, {}}.representative()), 6);
  EXPECT_EQ((IntegerClass{{2, 8}, {}}.representative()), 4);
  EXPECT_EQ((IntegerClass{{7, 7}, {}}.representative()), 7);
}

TEST(Plausible, TakesClassesWithinTheMargin) {
  Profile made;
  for (const double cost : {12.0, 10.0, 17.9, 18.1}) {
    IntegerClass entry;
    entry.estimate.cost = cost;
    made.classes.push_back(entry);
  }
  made.best = 1;
  EXPECT_EQ(made.plausible(8), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(made.plausible(0), std::vector<std::size_t>{1});
}

// ---- complete fits ----

TEST(Fit, FindsStructureAndParametersOfExactData) {
  for (const auto& truth : synthetic::all_truths) {
    const Fit fitted = fit(paper_model(truth).with_integer(1), synthetic::joint(truth, 1, 0.0),
                           {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(fitted.model.integer(), truth.k);
    const Eigen::VectorXd values = fitted.values();
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(values[static_cast<Eigen::Index>(i)] / truth.values()[i], 1.0, 1e-6)
          << fitted.model.parameter_list()[i].name;
    }
    EXPECT_EQ(fitted.identification.rank, 7U);
    EXPECT_EQ(fitted.noise.size(), group_count);
  }
}

TEST(Fit, ForecastsFourTimesTheSizeAndTwiceTheGpus) {
  for (const auto& truth : synthetic::all_truths) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Fit fitted =
          fit(paper_model(truth), synthetic::steps_alone(truth, seed), {1, 2, 3, 4, 5, 6, 7, 8});
      const Eigen::VectorXd values = fitted.values();
      for (const double n : {1000.0, 16000.0, 64000.0, 256000.0}) {
        const double seconds = fitted.model.step_seconds(values.data(), n, 8).total();
        EXPECT_NEAR(seconds / truth.seconds(n, 8), 1.0, 0.05) << "n " << n << ", seed " << seed;
      }
    }
  }
}

TEST(Fit, PutsWhatIsNotIdentifiedIntoTheMiddle) {
  const Fit fitted = fit(paper_model(native), synthetic::steps_alone(native, 1), {4});
  const Eigen::VectorXd values = fitted.values();
  const double fixed =
      values[synthetic::t_kernel] + values[synthetic::L_h2d] + values[synthetic::L_d2h];
  EXPECT_NEAR(values[synthetic::L_h2d] / fixed, 1.0 / 3, 0.1);
  EXPECT_NEAR(values[synthetic::L_d2h] / fixed, 1.0 / 3, 0.1);
}

TEST(Fit, OfNothingIsRefused) {
  const Observations empty = synthetic::steps_alone(native, 1).subset(std::vector<bool>(28, false));
  EXPECT_THROW(fit(paper_model(native), empty, {4}), std::invalid_argument);
}

TEST(Fit, TakesASingleSample) {
  synthetic::Samples samples;
  samples.add(synthetic::step(8000, 2), 0.0123);
  const Fit fitted = fit(paper_model(native), samples.observations(), {1, 2, 3, 4});
  EXPECT_TRUE(fitted.values().allFinite());
  EXPECT_GT(fitted.values().minCoeff(), 0.0);
  const Eigen::VectorXd values = fitted.values();
  EXPECT_NEAR(fitted.model.step_seconds(values.data(), 8000, 2).total(), 0.0123, 1e-6);
  EXPECT_EQ(fitted.identification.rank, 1U);
}

}  // namespace
}  // namespace gpucast::fit

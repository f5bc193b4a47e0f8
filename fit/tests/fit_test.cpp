#include "gpucast/fit/fit.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;

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

#include "gpucast/fit/identify.h"

#include <gtest/gtest.h>

#include "gpucast/fit/evaluate.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::native;
using synthetic::paper_model;

// The paper's model fitted to exact times: parameters that steps alone do not determine lie, in
// linear coordinates, on a segment, t_cpu + 12/B_d2h = host, and a triangle, t_kernel + L_h2d +
// L_d2h = fixed.
struct StepsAlone {
  model::StepModel model = paper_model(native);
  Observations observations = synthetic::steps_alone(native, 1, 0.0, 0.0, 2);
  Estimate estimate = fit::estimate(model, observations, start_values(model, observations));
  NullSpace null_space{model, observations, estimate};
  double host = native.t_cpu + 12 / native.B_d2h;
  double fixed = native.t_kernel + native.L_h2d + native.L_d2h;
};

TEST(NullSpace, HasADimensionForEachOpenQuestion) {
  EXPECT_EQ(StepsAlone().null_space.dimension(), 3);
}

TEST(NullSpace, IsEmptyWhereAllIsIdentified) {
  const model::StepModel model = paper_model(native);
  const Observations observations = synthetic::joint(native, 1);
  const Estimate fit = estimate(model, observations, start_values(model, observations));
  const NullSpace null_space(model, observations, fit);
  EXPECT_EQ(null_space.dimension(), 0);
  Random random(1);
  EXPECT_LT((null_space.wander(fit.z, 5, random) - fit.z).norm(), 1e-12);
}

TEST(NullSpace, PointsWanderedToFitAsWellAndStayPositive) {
  const StepsAlone at;
  Random random(2);
  Eigen::VectorXd z = at.estimate.z;
  Eigen::VectorXd log_time(at.estimate.log_fit.size());
  for (int point = 0; point < 500; ++point) {
    z = at.null_space.wander(z, 3, random);
    ASSERT_TRUE(z.allFinite());
    evaluate(at.model, at.observations.cells(), z.data(), log_time.data(), nullptr);
    ASSERT_LT((log_time - at.estimate.log_fit).cwiseAbs().maxCoeff(), 1e-9);
    ASSERT_NEAR(z[synthetic::t_gpu], at.estimate.z[synthetic::t_gpu], 1e-9);
    ASSERT_NEAR(z[synthetic::B_h2d], at.estimate.z[synthetic::B_h2d], 1e-9);
  }
}

TEST(NullSpace, PointsWanderedToAreUniformOverThePolytope) {
  // Uniform on a segment: mean 1/2, variance 1/12. Uniform on a triangle: each coordinate has mean
  // 1/3, variance 1/18, and two of them have covariance -1/36.
  const StepsAlone at;
  Random random(3);
  Eigen::VectorXd z = at.estimate.z;
  constexpr int points = 4000;
  Eigen::MatrixXd share(points, 4);
  for (int point = 0; point < points; ++point) {
    z = at.null_space.wander(z, 10, random);
    const Eigen::VectorXd u = z.array().exp();
    share.row(point) << u[synthetic::t_cpu] / at.host, u[synthetic::t_kernel] / at.fixed,
        u[synthetic::L_h2d] / at.fixed, u[synthetic::L_d2h] / at.fixed;
  }
  const Eigen::RowVectorXd mean = share.colwise().mean();
  const Eigen::MatrixXd centred = share.rowwise() - mean;
  const Eigen::MatrixXd covariance = centred.transpose() * centred / points;
  EXPECT_NEAR(mean[0], 1.0 / 2, 0.03);
  EXPECT_NEAR(covariance(0, 0), 1.0 / 12, 0.008);
  for (Eigen::Index i = 1; i < 4; ++i) {
    EXPECT_NEAR(mean[i], 1.0 / 3, 0.025) << i;
    EXPECT_NEAR(covariance(i, i), 1.0 / 18, 0.007) << i;
    EXPECT_NEAR(covariance(0, i), 0.0, 0.007) << i;
  }
  EXPECT_NEAR(covariance(1, 2), -1.0 / 36, 0.007);
}

TEST(NullSpace, ThirtyStepsForgetTheStart) {
  // The point of a bootstrap replicate: from a corner, the mean over many walks is the middle.
  const StepsAlone at;
  Eigen::VectorXd corner = at.estimate.z.array().exp();
  corner[synthetic::t_cpu] = 0.999 * at.host;
  corner[synthetic::B_d2h] = 0.001 * at.host / 12;
  corner[synthetic::t_kernel] = 0.998 * at.fixed;
  corner[synthetic::L_h2d] = 0.001 * at.fixed;
  corner[synthetic::L_d2h] = 0.001 * at.fixed;
  double host = 0;
  double kernel = 0;
  constexpr int walks = 1000;
  for (int walk = 0; walk < walks; ++walk) {
    Random random(4, static_cast<std::uint64_t>(walk));
    const Eigen::VectorXd u = at.null_space.wander(corner.array().log(), 30, random).array().exp();
    host += u[synthetic::t_cpu] / at.host / walks;
    kernel += u[synthetic::t_kernel] / at.fixed / walks;
  }
  EXPECT_NEAR(host, 0.5, 0.04);
  EXPECT_NEAR(kernel, 1.0 / 3, 0.04);
}

TEST(NullSpace, CentreIsTheMiddleOfThePolytope) {
  const StepsAlone at;
  const Eigen::VectorXd u = at.null_space.centre(at.estimate.z).array().exp();
  EXPECT_NEAR((u[synthetic::t_cpu] + 12 * u[synthetic::B_d2h]) / at.host, 1.0, 1e-6);
  EXPECT_NEAR(u[synthetic::t_cpu] / at.host, 0.5, 0.1);
  EXPECT_NEAR(u[synthetic::t_kernel] / at.fixed, 1.0 / 3, 0.1);
  EXPECT_NEAR(u[synthetic::L_h2d] / at.fixed, 1.0 / 3, 0.1);
  EXPECT_NEAR(u[synthetic::L_d2h] / at.fixed, 1.0 / 3, 0.1);
}

TEST(NullSpace, LeavesParametersThatNoCellDependsOnAlone) {
  const model::StepModel model(model::StepTerms{model::Work{}, model::Linear{}, model::Allgather{}},
                               {}, 1, {});
  synthetic::Noisy exact(1, 0);
  synthetic::Samples samples;
  synthetic::add_steps(
      samples, [](double n, double) { return 2e-5 + 1e-11 * n * n + 4e-8 * n + 8e-6; }, exact, 2,
      synthetic::n_grid, synthetic::one_gpu);
  const Observations observations = samples.observations();
  const Estimate fit = estimate(model, observations, start_values(model, observations));
  const NullSpace null_space(model, observations, fit);
  EXPECT_EQ(null_space.dimension(), 2);  // t_0 + t_kernel, t_root + t_cpu
  Random random(5);
  const Eigen::VectorXd z = null_space.wander(fit.z, 20, random);
  EXPECT_EQ(z[5], fit.z[5]);
  EXPECT_EQ(z[6], fit.z[6]);
  EXPECT_NEAR(std::exp(z[0]) + std::exp(z[4]), 2.8e-5, 1e-10);
  EXPECT_NE(z[0], fit.z[0]);
}

}  // namespace
}  // namespace gpucast::fit

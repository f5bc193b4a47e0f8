#include "gpucast/fit/estimate.h"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <limits>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index cols, synthetic::Noisy& noisy) {
  return Eigen::MatrixXd::NullaryExpr(rows, cols, [&] { return noisy.normal(); });
}

// Least distance over all active sets whose unconstrained solution is not negative.
double brute_force_distance(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  double least = b.norm();
  for (unsigned set = 1; set < (1U << static_cast<unsigned>(a.cols())); ++set) {
    std::vector<Eigen::Index> columns;
    for (Eigen::Index i = 0; i < a.cols(); ++i)
      if ((set >> static_cast<unsigned>(i)) & 1U) columns.push_back(i);
    const Eigen::MatrixXd part = a(Eigen::all, columns);
    const Eigen::VectorXd x = part.completeOrthogonalDecomposition().solve(b);
    if ((x.array() >= 0).all()) least = std::min(least, (part * x - b).norm());
  }
  return least;
}

void expect_best(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  const Eigen::VectorXd x = nnls(a, b);
  ASSERT_TRUE((x.array() >= 0).all());
  ASSERT_NEAR((a * x - b).norm(), brute_force_distance(a, b), 1e-9);
}

TEST(Nnls, FindsTheBestOfAllActiveSetsOfRandomProblems) {
  synthetic::Noisy noisy(1, 0);
  for (int problem = 0; problem < 400; ++problem) {
    const Eigen::Index cols = 1 + problem % 6;
    const Eigen::Index rows = cols + problem % 5;
    SCOPED_TRACE(problem);
    const Eigen::MatrixXd a = random_matrix(rows, cols, noisy);
    expect_best(a, random_matrix(rows, 1, noisy));
  }
}

TEST(Nnls, FindsTheBestWithMoreUnknownsThanRows) {
  synthetic::Noisy noisy(2, 0);
  for (int problem = 0; problem < 100; ++problem) {
    SCOPED_TRACE(problem);
    const Eigen::MatrixXd a = random_matrix(3, 5, noisy);
    expect_best(a, random_matrix(3, 1, noisy));
  }
}

TEST(Nnls, GivesPositiveSolutionsBack) {
  synthetic::Noisy noisy(3, 0);
  for (int problem = 0; problem < 100; ++problem) {
    const Eigen::MatrixXd a = random_matrix(10, 4, noisy).cwiseAbs();
    const Eigen::VectorXd truth = random_matrix(4, 1, noisy).cwiseAbs();
    EXPECT_LT((nnls(a, a * truth) - truth).norm(), 1e-9 * truth.norm());
  }
}

TEST(Nnls, IsAsNearWithColumnsThatDependOnOthers) {
  synthetic::Noisy noisy(4, 0);
  for (int problem = 0; problem < 100; ++problem) {
    Eigen::MatrixXd a = random_matrix(8, 6, noisy).cwiseAbs();
    a.col(3) = a.col(0);
    a.col(4) = 2 * a.col(1) + a.col(2);
    SCOPED_TRACE(problem);
    expect_best(a, random_matrix(8, 1, noisy).cwiseAbs());
  }
}

TEST(Nnls, LeavesColumnsOfZerosAtZero) {
  Eigen::MatrixXd a(3, 2);
  a << 0, 1, 0, 2, 0, 3;
  const Eigen::VectorXd x = nnls(a, Eigen::Vector3d(2, 4, 6));
  EXPECT_EQ(x[0], 0.0);
  EXPECT_NEAR(x[1], 2.0, 1e-12);
}

TEST(Nnls, StaysAtZeroWhereEveryColumnPointsAway) {
  Eigen::MatrixXd a(3, 2);
  a << 1, 2, 3, 1, 2, 2;
  EXPECT_EQ(nnls(a, Eigen::Vector3d(-1, -2, -3)), Eigen::Vector2d::Zero());
}

TEST(Nnls, IsIndifferentToTheUnitsOfColumns) {
  synthetic::Noisy noisy(5, 0);
  const Eigen::MatrixXd a = random_matrix(9, 4, noisy).cwiseAbs();
  const Eigen::VectorXd b = a * Eigen::Vector4d(1, 0, 2, 3);
  const Eigen::Vector4d unit(1e-11, 1e-5, 1e4, 1);
  const Eigen::VectorXd x = nnls(a * unit.asDiagonal(), b);
  EXPECT_LT((unit.asDiagonal() * x - Eigen::Vector4d(1, 0, 2, 3)).norm(), 1e-9);
}

}  // namespace
}  // namespace gpucast::fit

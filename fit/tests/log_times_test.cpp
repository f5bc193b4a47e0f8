#include "gpucast/fit/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "every_model.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

struct Point {
  Point(const model::StepModel& model, const std::vector<Cell>& cells)
      : log_time(static_cast<Eigen::Index>(cells.size())),
        jacobian(log_time.size(), static_cast<Eigen::Index>(model.parameter_count())) {}

  Eigen::VectorXd log_time;
  Eigen::MatrixXd jacobian;
};

double largest_difference(const Point& a, const Point& b) {
  return std::max((a.log_time - b.log_time).cwiseAbs().maxCoeff(),
                  (a.jacobian - b.jacobian).cwiseAbs().maxCoeff());
}

Point from(Times times, const model::StepModel& model, const std::vector<Cell>& cells,
           const Eigen::VectorXd& z) {
  Point point(model, cells);
  LogTimes(model, cells, times)(z.data(), point.log_time.data(), point.jacobian.data());
  return point;
}

TEST(LogTimes, OfAMatrixAreThoseOfTheFormulas) {
  synthetic::Noisy noisy(5, 0);
  for (const auto& model : every_combination_of_terms()) {
    const std::vector<Cell> cells = cells_for(model);
    const Eigen::VectorXd z = random_point(model, noisy);
    Point expected(model, cells);
    evaluate(model, cells, z.data(), expected.log_time.data(), expected.jacobian.data());
    EXPECT_EQ(largest_difference(from(Times::formulas, model, cells, z), expected), 0)
        << describe(model);
    EXPECT_LT(largest_difference(from(Times::matrix, model, cells, z), expected), 1e-12)
        << describe(model);
  }
}

TEST(LogTimes, AreTheSameWithAndWithoutDerivatives) {
  synthetic::Noisy noisy(6, 0);
  for (const auto& model : every_combination_of_terms()) {
    const std::vector<Cell> cells = cells_for(model);
    const Eigen::VectorXd z = random_point(model, noisy);
    const LogTimes log_times(model, cells, Times::matrix);
    Point with(model, cells);
    log_times(z.data(), with.log_time.data(), with.jacobian.data());
    Eigen::VectorXd without(with.log_time.size());
    log_times(z.data(), without.data(), nullptr);
    EXPECT_LT((without - with.log_time).cwiseAbs().maxCoeff(), 1e-14) << describe(model);
  }
}

}  // namespace
}  // namespace gpucast::fit

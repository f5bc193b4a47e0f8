#include "gpucast/fit/evaluate.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "every_model.h"

namespace gpucast::fit {
namespace {

using synthetic::launch;
using synthetic::step;
using synthetic::transfer;

Eigen::VectorXd log_times(const model::StepModel& model, const std::vector<Cell>& cells,
                          const Eigen::VectorXd& z) {
  Eigen::VectorXd result(static_cast<Eigen::Index>(cells.size()));
  evaluate(model, cells, z.data(), result.data(), nullptr);
  return result;
}

struct Evaluated {
  Eigen::VectorXd log_time;
  Eigen::MatrixXd jacobian;
};

Evaluated with_derivatives(const model::StepModel& model, const std::vector<Cell>& cells,
                           const Eigen::VectorXd& z) {
  Evaluated result{Eigen::VectorXd(static_cast<Eigen::Index>(cells.size())),
                   Eigen::MatrixXd(static_cast<Eigen::Index>(cells.size()), z.size())};
  evaluate(model, cells, z.data(), result.log_time.data(), result.jacobian.data());
  return result;
}

bool sees_ticks(const model::StepModel& model) {
  return model::info(model.terms().value_or(model::StepTerms{}).com).sees_ticks;
}

// Whether times within about a microsecond of each other are distinguished, a scale that is no
// parameter.
bool knows_microseconds(const model::StepModel& model) {
  return sees_ticks(model) ||
         name(model.terms().value_or(model::StepTerms{}).com) == "star-serial-hide";
}

// Shares of a cell's time, for parameters that are no pure numbers.
Eigen::VectorXd shares(const model::StepModel& model, const Eigen::MatrixXd& jacobian,
                       Eigen::Index cell) {
  Eigen::VectorXd share = jacobian.row(cell);
  for (Eigen::Index i = 0; i < share.size(); ++i)
    if (model.parameter_list()[static_cast<std::size_t>(i)].is_ratio()) share[i] = 0;
  return share;
}

TEST(Evaluate, DerivativesEqualFiniteDifferencesForEveryCombinationOfTerms) {
  synthetic::Noisy noisy(1, 0);
  for (const auto& model : every_combination_of_terms()) {
    // Five points: the error falls as h^4. A tick is a small part of a long kernel's time.
    const bool fine = knows_microseconds(model);
    const double h = fine ? 2e-6 : 2e-3;
    const double tolerance = fine ? 1e-5 : 1e-6;
    const double smallest = fine ? 1e-3 : 1e-4;
    const std::vector<Cell> cells = cells_for(model);
    for (int point = 0; point < 3; ++point) {
      const Eigen::VectorXd z = random_point(model, noisy);
      const Eigen::MatrixXd jacobian = with_derivatives(model, cells, z).jacobian;
      for (Eigen::Index i = 0; i < z.size(); ++i) {
        const auto at = [&](double offset) {
          Eigen::VectorXd moved = z;
          moved[i] += offset;
          return log_times(model, cells, moved);
        };
        const Eigen::VectorXd difference =
            (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
        for (Eigen::Index j = 0; j < difference.size(); ++j) {
          ASSERT_NEAR(jacobian(j, i), difference[j],
                      tolerance * std::max(smallest, std::abs(difference[j])))
              << describe(model) << ", cell " << j << ", parameter "
              << model.parameter_list()[static_cast<std::size_t>(i)].name;
        }
      }
    }
  }
}

TEST(Evaluate, SharesOfATimeSumToOne) {
  // Every time is homogeneous of degree 1 in the linear coordinates (Euler's theorem), except with
  // ticks, which are no parameter; the kernel times of skeletons are given. Pure numbers are no
  // times.
  synthetic::Noisy noisy(2, 0);
  for (const auto& model : every_combination_of_terms()) {
    if (knows_microseconds(model)) continue;
    const std::vector<Cell> cells = cells_for(model);
    const Evaluated at = with_derivatives(model, cells, random_point(model, noisy));
    for (Eigen::Index j = 0; j < at.log_time.size(); ++j) {
      const Eigen::VectorXd share = shares(model, at.jacobian, j);
      if (cells[static_cast<std::size_t>(j)].kind == Kind::skeleton) {
        ASSERT_LT(share.sum(), 1.0) << describe(model) << ", cell " << j;
        continue;
      }
      ASSERT_NEAR(share.sum(), 1.0, 1e-12) << describe(model) << ", cell " << j;
      ASSERT_GE(share.minCoeff(), 0.0) << describe(model) << ", cell " << j;
    }
  }
}

TEST(Evaluate, GivesTheSameTimesWithAndWithoutDerivatives) {
  synthetic::Noisy noisy(3, 0);
  for (const auto& model : every_combination_of_terms()) {
    const std::vector<Cell> cells = cells_for(model);
    const Eigen::VectorXd z = random_point(model, noisy);
    EXPECT_LT((with_derivatives(model, cells, z).log_time - log_times(model, cells, z))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-14)
        << describe(model);
  }
}

TEST(Evaluate, TimesAreThePapersEquations) {
  for (const auto& truth : synthetic::all_truths) {
    const model::StepModel model = synthetic::paper_model(truth);
    const std::vector<double> values = truth.values();
    const Eigen::VectorXd z =
        synthetic::log_from_values(model, Eigen::VectorXd::Map(values.data(), 7));
    std::vector<Cell> cells{transfer(model::Route::h2d, 1e6), transfer(model::Route::d2h, 12345),
                            launch(7)};
    std::vector<double> seconds{truth.transfer(model::Route::h2d, 1e6),
                                truth.transfer(model::Route::d2h, 12345), 7 * truth.t_kernel};
    for (const double n : synthetic::n_grid) {
      cells.push_back({.kind = Kind::cpu, .n = n});
      seconds.push_back(truth.t_cpu * n);
      for (const double gpus : synthetic::gpu_grid) {
        cells.push_back(step(n, gpus));
        seconds.push_back(truth.seconds(n, gpus));
      }
    }
    const Eigen::VectorXd log_time = log_times(model, cells, z);
    for (std::size_t j = 0; j < cells.size(); ++j)
      EXPECT_NEAR(log_time[static_cast<Eigen::Index>(j)], std::log(seconds[j]), 1e-13);
  }
}

TEST(LinearJacobian, OfThePapersModelHoldsTheCoefficientsOfItsEquations) {
  const auto truth = synthetic::native;
  const model::StepModel model = synthetic::paper_model(truth);
  const std::vector<double> values = truth.values();
  const Eigen::VectorXd z =
      synthetic::log_from_values(model, Eigen::VectorXd::Map(values.data(), 7));
  const Eigen::MatrixXd at =
      linear_jacobian(model, {step(64000, 4), transfer(model::Route::d2h, 4096), launch(10)}, z);
  // t_gpu, t_cpu, t_kernel, L_h2d, 1/B_h2d, L_d2h, 1/B_d2h
  Eigen::MatrixXd expected(3, 7);
  expected << 2.0 * 64000 * 4 * 2304, 64000, 4, 4, 16.0 * 64000 * 4, 4, 12.0 * 64000,  //
      0, 0, 0, 0, 0, 1, 4096,                                                          //
      0, 0, 10, 0, 0, 0, 0;
  for (Eigen::Index j = 0; j < 3; ++j)
    for (Eigen::Index i = 0; i < 7; ++i)
      EXPECT_NEAR(at(j, i), expected(j, i), 1e-12 * expected(j, i)) << j << ", " << i;
}

TEST(ValuesFromLog, InvertsThroughputsOnly) {
  const model::StepModel model = synthetic::paper_model(synthetic::native);
  const Eigen::VectorXd z = Eigen::VectorXd::Constant(7, std::log(2.0));
  const Eigen::VectorXd values = values_from_log(model, z);
  EXPECT_DOUBLE_EQ(values[synthetic::t_gpu], 2.0);
  EXPECT_DOUBLE_EQ(values[synthetic::L_d2h], 2.0);
  EXPECT_DOUBLE_EQ(values[synthetic::B_h2d], 0.5);
  EXPECT_DOUBLE_EQ(values[synthetic::B_d2h], 0.5);
  EXPECT_LT((synthetic::log_from_values(model, values) - z).norm(), 1e-15);
}

model::StepModel with_breakpoints(std::size_t count) {
  model::TransferCurve curve;
  for (std::size_t i = 1; i <= count; ++i)
    curve.breakpoints.push_back(1000.0 * static_cast<double>(i));
  model::TransferCurves curves;
  curves[static_cast<std::size_t>(model::Route::h2d)] = curve;
  return {std::nullopt, {}, 1, curves};
}

TEST(Evaluate, DifferentiatesModelsOfUpTo48ParametersAndRefusesMore) {
  const std::vector<Cell> cells{transfer(model::Route::h2d, 1e6)};
  for (const std::size_t count : {8U, 9U, 16U, 17U, 48U}) {
    const model::StepModel model = with_breakpoints(count - 2);
    ASSERT_EQ(model.parameter_count(), count);
    const Eigen::VectorXd z = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(count));
    const Eigen::MatrixXd jacobian = with_derivatives(model, cells, z).jacobian;
    // L = 1 s and 1 s a byte: 1 + 1e6 s, of which each inner piece has 1000 s.
    EXPECT_NEAR(jacobian(0, 0), 1 / 1000001.0, 1e-15);
    EXPECT_NEAR(jacobian(0, 1), 1000 / 1000001.0, 1e-12);
    EXPECT_NEAR(jacobian.sum(), 1.0, 1e-12);
  }
  const model::StepModel large = with_breakpoints(47);
  EXPECT_THROW(with_derivatives(large, cells, Eigen::VectorXd::Zero(49)), std::invalid_argument);
}

// ---- times at many points ----

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

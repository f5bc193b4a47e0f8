// One form with its processes, compared with dense normal distributions conditioned by inverses.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <numbers>
#include <string_view>

#include "components_synthetic.h"
#include "gpucast/fit/components/component_mixture.h"

namespace gpucast::fit::components {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::vector<Cell> steps_at(const std::vector<double>& n, const std::vector<double>& gpus) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < n.size(); ++i)
    cells.push_back(synthetic::step(n[i], gpus[i]));
  return cells;
}

VectorXd step_medians(const Measured& measured) {
  VectorXd result = VectorXd::Constant(measured.size(), std::numeric_limits<double>::infinity());
  for (const Visit& visit : measured.visits)
    result[visit.cell] = std::min(result[visit.cell], visit.step);
  return result;
}

Form form_for(const model::StepModel& model, const Measured& measured) {
  std::vector<Cell> cells;
  for (Index c = 0; c < measured.size(); ++c)
    cells.push_back(synthetic::step(measured.n[c], measured.gpus[c]));
  return with_priors(model, cells, step_medians(measured), {});
}

// Covariances of the deviations from the form, entry by entry, as component_form.h has them.
MatrixXd deviations(const Sites& a, const MatrixXd& weights_a, const Sites& b,
                    const MatrixXd& weights_b, const LogAmplitudes& log_amplitudes) {
  const auto square = [&](Index amplitude) { return std::exp(2 * log_amplitudes[amplitude]); };
  MatrixXd result(a.size(), b.size());
  for (Index i = 0; i < a.size(); ++i) {
    for (Index j = 0; j < b.size(); ++j) {
      const double in_n = std::abs(a.log_n[i] - b.log_n[j]);
      const double in_gpus = std::abs(a.log_gpus[i] - b.log_gpus[j]);
      const bool same = in_n == 0 && in_gpus == 0;
      const double gpu = square(gpu_process) *
                             std::exp(-std::abs(a.coordinate[i] - b.coordinate[j]) / gpu_length) +
                         (same ? square(gpu_of_cell) : 0);
      const double cpu = square(cpu_process) * std::exp(-in_n / cpu_length);
      const double com =
          std::exp(-in_n / com_length) *
              (square(com_process) + square(com_by_gpus) * std::exp(-in_gpus / gpus_length)) +
          (same ? square(com_of_cell) : 0);
      result(i, j) = weights_a(i, 0) * weights_b(j, 0) * gpu +
                     weights_a(i, 1) * weights_b(j, 1) * cpu +
                     weights_a(i, 2) * weights_b(j, 2) * com;
    }
  }
  return result;
}

// The normal distribution of all rows, parameters linear about a point.
struct DenseFit {
  Sites at;
  RowTimes times;
  VectorXd seen, expected;
  MatrixXd covariance;
  double scatter;  // log density of visits about their means

  DenseFit(const Form& form, const Measured& measured, const Point& point) {
    const Rows rows(measured);
    at = sites(form.model, rows.cells);
    times = row_times(form, at, point.z);
    const VisitNoise noise(measured, rows, times.weights, point.amplitudes, point.disturbed);
    seen = noise.mean();
    scatter = noise.log_density();
    expected = times.log_seconds + times.slopes * (form.median - point.z);
    const VectorXd variance = form.sd.array().square();
    covariance = times.slopes * variance.asDiagonal() * times.slopes.transpose() +
                 deviations(at, times.weights, at, times.weights, point.amplitudes);
    noise.add_to(covariance);
    covariance.diagonal().array() += 1e-10;  // least_variance of component_fit.cpp
  }
};

// A parameter without a median may make half of the shortest time that it could make: 1e-3 s here.
TEST(Priors, TakeTheirScaleFromTheTimesOfTheirPart) {
  const auto model = model_of(model::Work{}, model::Linear{}, model::Halo{});
  const Form form =
      with_priors(model, steps_at({8e3, 64e3}, {1, 8}), VectorXd::Constant(2, std::log(1e-3)), {});
  const auto median = [&](std::string_view name) {
    const auto& list = model.parameter_list();
    const auto parameter = std::ranges::find(list, name, &model::Parameter::name);
    return std::exp(form.median[parameter - list.begin()]);
  };
  EXPECT_NEAR(median("t_pair"), .5e-3 / (8e3 * 64e3), 1e-18);
  EXPECT_NEAR(median("t_edge"), .5e-3, 1e-12);
  EXPECT_NEAR(median("t_face"), .5e-3 / 400, 1e-12);  // (8000)^(2/3), of 8 GPUs with 8000 each
  EXPECT_NEAR(median("t_0"), 6e-6, 1e-12);            // the catalogue's
}

class Fitted : public ::testing::TestWithParam<bool> {
 protected:
  Fitted()
      : truth_(GetParam() ? by_blocks() : by_work()),
        measured_(measure(truth_, {{4e3, 16e3, 64e3}, {1, 2}, 2, true, !GetParam()}, 3)),
        form_(form_for(truth_.model, measured_)),
        point_(fit_form(form_, measured_, usual_amplitudes())),
        fit_(form_, measured_, point_) {}

  True truth_;
  Measured measured_;
  Form form_;
  Point point_;
  FormFit fit_;
};

TEST_P(Fitted, PredictsAsTheDenseDistributionDoes) {
  const DenseFit dense(form_, measured_, point_);
  const Sites at = sites(form_.model, steps_at({4e3, 10e3, 3e5, 1e6}, {1, 2, 3, 64}));
  const RowTimes times = row_times(form_, at, point_.z);
  const MatrixXd prior = form_.sd.array().square().matrix().asDiagonal();
  const MatrixXd cross =
      times.slopes * prior * dense.times.slopes.transpose() +
      deviations(at, times.weights, dense.at, dense.times.weights, point_.amplitudes);
  const MatrixXd inverse = dense.covariance.inverse();
  const VectorXd mean = times.log_seconds + times.slopes * (form_.median - point_.z) +
                        cross * inverse * (dense.seen - dense.expected);
  const MatrixXd covariance = times.slopes * prior * times.slopes.transpose() +
                              deviations(at, times.weights, at, times.weights, point_.amplitudes) -
                              cross * inverse * cross.transpose();
  const auto predicted = fit_.predict(at, true);
  EXPECT_LT((predicted.mean - mean).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LT((predicted.covariance - covariance).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LT((predicted.variance - covariance.diagonal()).cwiseAbs().maxCoeff(), 1e-6);
}

TEST_P(Fitted, EvidenceIsTheDenseLogDensityWithTheAmplitudesPrior) {
  const DenseFit dense(form_, measured_, point_);
  const VectorXd off = dense.seen - dense.expected;
  const auto factor = dense.covariance.llt();
  double expected = dense.scatter - .5 * off.dot(factor.solve(off)) -
                    factor.matrixLLT().diagonal().array().log().sum() -
                    .5 * static_cast<double>(off.size()) * std::log(2 * std::numbers::pi);
  for (std::size_t i = 0; i < amplitude_count; ++i) {
    const LogNormal& prior = about_amplitudes[i].prior;
    const double deviate =
        (point_.amplitudes[static_cast<Index>(i)] - prior.log_median) / prior.log_sd;
    expected -= .5 * deviate * deviate;
  }
  EXPECT_NEAR(fit_.log_evidence(), expected, 1e-6 * std::abs(expected));
}

TEST_P(Fitted, ErrorsAreThoseOfTheDensePosterior) {
  const DenseFit dense(form_, measured_, point_);
  const MatrixXd prior = form_.sd.array().square().matrix().asDiagonal();
  const MatrixXd cross = prior * dense.times.slopes.transpose();
  const MatrixXd posterior = prior - cross * dense.covariance.inverse() * cross.transpose();
  EXPECT_LT((fit_.errors().array() / posterior.diagonal().array().sqrt() - 1).abs().maxCoeff(),
            1e-5);
}

TEST_P(Fitted, LeavesCellsOutAsARefitWithoutThemWould) {
  const VectorXd left_out = fit_.left_out();
  const Rows rows(measured_);
  const DenseFit all(form_, measured_, point_);
  for (Index out = 0; out < measured_.size(); ++out) {
    Measured rest{VectorXd(measured_.size() - 1),
                  VectorXd(measured_.size() - 1),
                  VectorXd(measured_.size() - 1),
                  VectorXd(measured_.size() - 1),
                  {}};
    Index to = 0;
    for (Index c = 0; c < measured_.size(); ++c) {
      if (c == out) continue;
      rest.n[to] = measured_.n[c];
      rest.gpus[to] = measured_.gpus[c];
      rest.kernel[to] = measured_.kernel[c];
      rest.kernel_variance[to++] = measured_.kernel_variance[c];
    }
    std::vector<std::size_t> kept;
    for (std::size_t v = 0; v < measured_.visits.size(); ++v) {
      Visit visit = measured_.visits[v];
      if (visit.cell == out) continue;
      visit.cell -= visit.cell > out ? 1 : 0;
      rest.visits.push_back(visit);
      kept.push_back(v);
    }
    Point point{point_.z, point_.amplitudes, Disturbed(rest)};
    for (std::size_t v = 0; v < kept.size(); ++v) {
      const auto from = static_cast<Index>(kept[v]);
      point.disturbed.step[static_cast<Index>(v)] = point_.disturbed.step[from];
      point.disturbed.cpu[static_cast<Index>(v)] = point_.disturbed.cpu[from];
    }
    for (Index c = 0; c < rest.size(); ++c)
      point.disturbed.kernel[c] = point_.disturbed.kernel[c + (c >= out ? 1 : 0)];
    const FormFit without(form_, rest, point);
    const Sites at = sites(form_.model, steps_at({measured_.n[out]}, {measured_.gpus[out]}));
    const double seen = all.seen[rows.of_cell[static_cast<std::size_t>(out)][0]];
    EXPECT_NEAR(left_out[out], seen - without.predict(at, false).mean[0], 1e-6);
  }
}

TEST_P(Fitted, CovarianceOfManyCellsHasNoNegativeDirection) {
  std::vector<double> n;
  std::vector<double> gpus;
  for (const double size : {1e3, 4e3, 5e3, 16e3, 64e3, 1e6, 1e18}) {
    for (const double count : {1.0, 2.0, 3.0, 1e6}) {
      n.push_back(size);
      gpus.push_back(count);
    }
  }
  const auto predicted = fit_.predict(sites(form_.model, steps_at(n, gpus)), true);
  ASSERT_TRUE(predicted.mean.allFinite());
  ASSERT_TRUE(predicted.covariance.allFinite());
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(predicted.covariance);
  EXPECT_GT(solver.eigenvalues().minCoeff(), -1e-9 * solver.eigenvalues().maxCoeff());
}

// Where no process reaches, the variance is that of the processes and the parameters.
TEST_P(Fitted, FarFromTheDataTheVarianceIsThatOfProcessesAndParameters) {
  const Sites far = sites(form_.model, steps_at({1e18}, {1}));
  const RowTimes times = row_times(form_, far, point_.z);
  const DenseFit dense(form_, measured_, point_);
  const MatrixXd prior = form_.sd.array().square().matrix().asDiagonal();
  const MatrixXd cross = prior * dense.times.slopes.transpose();
  const MatrixXd posterior = prior - cross * dense.covariance.inverse() * cross.transpose();
  const double expected =
      deviations(far, times.weights, far, times.weights, point_.amplitudes)(0, 0) +
      (times.slopes * posterior * times.slopes.transpose())(0, 0);
  EXPECT_NEAR(fit_.predict(far, false).variance[0], expected, 1e-3 * expected);
}

// For steps only: host times of the same n that differ by GPU count cannot all be followed.
TEST_P(Fitted, FollowsTheDataWhereNothingScatters) {
  const Measured measured = measure(truth_, {{4e3, 16e3, 64e3}, {1, 2}, 1, false, false}, 4);
  Point quiet{point_.z, point_.amplitudes, Disturbed(measured)};
  quiet.amplitudes.tail<4>().setConstant(-12);
  Measured exact = measured;
  for (Visit& visit : exact.visits)
    visit.step_variance = 0;
  const FormFit fit(form_, exact, quiet);
  for (const Visit& visit : exact.visits) {
    const Sites at = sites(form_.model, steps_at({exact.n[visit.cell]}, {exact.gpus[visit.cell]}));
    const auto predicted = fit.predict(at, false);
    EXPECT_NEAR(predicted.mean[0], visit.step, 1e-4);
    EXPECT_LT(predicted.variance[0], 1e-9);
  }
}

// Parameters and amplitudes at some distance are no better by more than the fit's stopping
// criterion (amplitudes: a cost that falls by 0.01 in a step).
TEST_P(Fitted, EndsAtTheMostPlausibleParametersAndAmplitudes) {
  const auto cost = [&](const LogAmplitudes& amplitudes) {
    Point other = point_;
    other.amplitudes = amplitudes;
    return -FormFit(form_, measured_, other).log_evidence();
  };
  const double here = cost(point_.amplitudes);
  for (Index i = 0; i < point_.amplitudes.size(); ++i) {
    for (const double by : {-.3, -.1, .1, .3}) {
      LogAmplitudes moved = point_.amplitudes;
      moved[i] += by;
      EXPECT_GT(cost(moved), here - .05) << about_amplitudes[static_cast<std::size_t>(i)].name;
    }
  }
  for (Index i = 0; i < point_.z.size(); ++i) {
    for (const double by : {-.3, .3}) {
      Point moved = point_;
      moved.z[i] += by * fit_.errors()[i];
      const DenseFit dense(form_, measured_, point_);
      const auto plausible = [&](const Point& at) {
        const VectorXd off = dense.seen - row_times(form_, dense.at, at.z).log_seconds;
        const MatrixXd covariance =
            dense.covariance - dense.times.slopes *
                                   form_.sd.array().square().matrix().asDiagonal() *
                                   dense.times.slopes.transpose();
        return .5 * off.dot(covariance.llt().solve(off)) +
               .5 * (at.z - form_.median).cwiseQuotient(form_.sd).squaredNorm();
      };
      EXPECT_GT(plausible(moved), plausible(point_) - 1e-3)
          << (i + 1 < point_.z.size()
                  ? form_.model.parameter_list()[static_cast<std::size_t>(i)].name
                  : "events");
    }
  }
}

TEST_P(Fitted, DrawsHaveTheForecastsMeanAndCovariance) {
  const Mixture mixture(measured_, {{form_, point_, 1}});
  const VectorXd n{{4e3, 30e3, 3e5}};
  const VectorXd gpus{{1, 2, 4}};
  const Index count = 20000;
  const MatrixXd draws = mixture.draws(n, gpus, count, 11);
  const auto predicted =
      fit_.predict(sites(form_.model, steps_at({4e3, 30e3, 3e5}, {1, 2, 4})), true);
  const MatrixXd off = draws.rowwise() - predicted.mean.transpose();
  const MatrixXd seen = off.transpose() * off / static_cast<double>(count);
  // The covariance of t with 8 degrees, whose scale is .95 of an sd (component_mixture.cpp).
  const MatrixXd expected = .95 * .95 * 8.0 / 6 * predicted.covariance;
  for (Index i = 0; i < 3; ++i) {
    EXPECT_NEAR(off.col(i).mean(), 0, 5 * std::sqrt(expected(i, i) / count));
    for (Index j = 0; j < 3; ++j) {
      EXPECT_NEAR(seen(i, j), expected(i, j),
                  5 * std::sqrt(8 * expected(i, i) * expected(j, j) / count));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Fitted, ::testing::Bool(), [](const auto& which) {
  return which.param ? "OccupancyBentQueue" : "WorkLinearSerialWithKernels";
});

}  // namespace
}  // namespace gpucast::fit::components

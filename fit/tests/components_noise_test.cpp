// Noise of visits, compared with all visits written out one by one in one dense normal
// distribution.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <limits>
#include <utility>

#include "gpucast/fit/components/visit_noise.h"
#include "synthetic.h"

namespace gpucast::fit::components {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::array<Index, 4> of_visits{gpu_of_visit, cpu_of_visit, com_of_visit, cpu_phase};

double log_normal_density(const VectorXd& off, const MatrixXd& covariance) {
  return -.5 * off.dot(covariance.ldlt().solve(off)) - .5 * std::log(covariance.determinant()) -
         .5 * static_cast<double>(off.size()) * std::log(2 * std::numbers::pi);
}

// Four cells: visits with and without host times, without any, one visit alone; two kernels. Some
// visits and a kernel are disturbed. The cells' expected times and their variances are invented.
class ManyVisits : public ::testing::Test {
 protected:
  ManyVisits() : measured_(four_cells()), rows_(measured_), disturbed_(measured_) {
    disturbed_.step[1] = .03;
    disturbed_.cpu[3] = .2;
    disturbed_.kernel[3] = 1e-3;
    synthetic::Noisy noisy(1, 0);
    weights_ = MatrixXd::Zero(rows_.size(), 3);
    const Index count = rows_.size();
    MatrixXd root(count, count);
    for (double& entry : root.reshaped())
      entry = .1 * noisy.normal();
    of_rows_ = root * root.transpose();
    expected_ = VectorXd(count);
    for (double& seconds : expected_)
      seconds = -7 + .3 * noisy.normal();
    for (const auto& at : rows_.of_cell) {
      const double gpu = .3 + .3 * noisy.uniform();
      const double cpu = .1 + .2 * noisy.uniform();
      weights_.row(at[0]) << gpu, cpu, 1 - gpu - cpu;
      if (at[1] >= 0) weights_(at[1], 1) = 1;
      if (at[2] >= 0) weights_(at[2], 0) = .9;
    }
    amplitudes_ = usual_amplitudes().array() + .2;
  }

  static Measured four_cells() {
    const double none = std::numeric_limits<double>::quiet_NaN();
    Measured result{VectorXd{{1e3, 2e3, 2e3, 8e3}},
                    VectorXd{{1, 1, 2, 4}},
                    VectorXd{{none, -7.4, none, -6.8}},
                    VectorXd{{0, 1e-4, 0, 2e-4}},
                    {}};
    result.visits = {{0, -7.1, 1e-4, true, -8.2, 2e-4}, {0, -6.6, 2e-4, false, 0, 0},
                     {1, -7.2, 1e-4, true, -8.0, 1e-4}, {0, -7.0, 3e-4, true, -8.5, 1e-3},
                     {2, -6.9, 1e-4, false, 0, 0},      {2, -6.8, 1e-6, false, 0, 0},
                     {3, -6.5, 1e-4, true, -7.4, 1e-6}};
    return result;
  }

  // One entry an observation: steps and host times of visits in turn, then kernels.
  struct Dense {
    VectorXd seen;
    MatrixXd of_row;  // 1 where an observation is of a row
    MatrixXd noise;
    std::array<MatrixXd, 4> slopes;  // of the noise, by log amplitude
  };

  Dense dense(const LogAmplitudes& log_amplitudes) const {
    struct One {
      double seen;
      Index row, visit;
      bool cpu;
      double alone;
    };
    std::vector<One> all;
    for (std::size_t v = 0; v < measured_.visits.size(); ++v) {
      const Visit& visit = measured_.visits[v];
      const auto& at = rows_.of_cell[static_cast<std::size_t>(visit.cell)];
      const auto i = static_cast<Index>(v);
      all.push_back({visit.step, at[0], i, false, visit.step_variance + disturbed_.step[i]});
      if (visit.has_cpu)
        all.push_back({visit.cpu, at[1], i, true, visit.cpu_variance + disturbed_.cpu[i]});
    }
    for (Index c = 0; c < measured_.size(); ++c) {
      const Index row = rows_.of_cell[static_cast<std::size_t>(c)][2];
      const double alone = measured_.kernel_variance[c] + disturbed_.kernel[c];
      if (row >= 0) all.push_back({measured_.kernel[c], row, -1 - c, false, alone});
    }
    const auto count = static_cast<Index>(all.size());
    Dense result{
        VectorXd(count), MatrixXd::Zero(count, rows_.size()), MatrixXd::Zero(count, count), {}};
    for (auto& slope : result.slopes)
      slope = result.noise;
    for (Index i = 0; i < count; ++i) {
      const One& a = all[static_cast<std::size_t>(i)];
      result.seen[i] = a.seen;
      result.of_row(i, a.row) = 1;
      result.noise(i, i) = a.alone;
      if (a.visit < 0) continue;
      for (Index j = 0; j < count; ++j) {
        const One& b = all[static_cast<std::size_t>(j)];
        if (a.visit != b.visit) continue;
        for (std::size_t k = 0; k < 4; ++k) {
          // The variance of the phase's clock belongs to the host time only; a step has the shares
          // of its row.
          const auto share = [&](const One& one) {
            if (k == 3) return one.cpu ? 1.0 : 0.0;
            return weights_(one.row, static_cast<Index>(k));
          };
          const double variance = std::exp(2 * log_amplitudes[of_visits[k]]);
          const double part = variance * share(a) * share(b);
          result.noise(i, j) += part;
          result.slopes[k](i, j) = 2 * part;
        }
      }
    }
    return result;
  }

  double dense_log_density(const LogAmplitudes& log_amplitudes) const {
    const Dense all = dense(log_amplitudes);
    return log_normal_density(all.seen - all.of_row * expected_,
                              all.of_row * of_rows_ * all.of_row.transpose() + all.noise);
  }

  VisitNoise noise(const LogAmplitudes& log_amplitudes) const {
    return {measured_, rows_, weights_, log_amplitudes, disturbed_};
  }

  // Inverse of the covariance of the cells' means, and its product with their residuals.
  std::pair<MatrixXd, VectorXd> inverse_and_alpha(const VisitNoise& visits) const {
    MatrixXd covariance = of_rows_;
    visits.add_to(covariance);
    const MatrixXd inverse = covariance.inverse();
    return {inverse, inverse * (visits.mean() - expected_)};
  }

  Measured measured_;
  Rows rows_;
  Disturbed disturbed_;
  MatrixXd weights_, of_rows_;
  VectorXd expected_;
  LogAmplitudes amplitudes_;
};

TEST_F(ManyVisits, MeansAndScatterSayAllThatTheVisitsSay) {
  const VisitNoise visits = noise(amplitudes_);
  MatrixXd covariance = of_rows_;
  visits.add_to(covariance);
  EXPECT_NEAR(visits.log_density() + log_normal_density(visits.mean() - expected_, covariance),
              dense_log_density(amplitudes_), 1e-8);
}

TEST_F(ManyVisits, GradientIsTheSlopeOfTheNegativeLogDensity) {
  const VisitNoise visits = noise(amplitudes_);
  const auto [inverse, alpha] = inverse_and_alpha(visits);
  const auto slopes = visits.slopes(inverse, alpha);
  for (std::size_t k = 0; k < 4; ++k) {
    LogAmplitudes up = amplitudes_;
    LogAmplitudes down = amplitudes_;
    up[of_visits[k]] += 1e-4;
    down[of_visits[k]] -= 1e-4;
    const double slope = (dense_log_density(down) - dense_log_density(up)) / 2e-4;
    EXPECT_NEAR(slopes.gradient[static_cast<Index>(k)], slope, 1e-5 * (1 + std::abs(slope)));
  }
}

// 1/2 alpha' dV_k P dV_j alpha of all visits, with their residuals' alpha = P r.
TEST_F(ManyVisits, InformationIsThatOfAllVisits) {
  const VisitNoise visits = noise(amplitudes_);
  const auto [inverse, alpha] = inverse_and_alpha(visits);
  const auto slopes = visits.slopes(inverse, alpha);
  const Dense all = dense(amplitudes_);
  const MatrixXd precision = (all.of_row * of_rows_ * all.of_row.transpose() + all.noise).inverse();
  const VectorXd weighted = precision * (all.seen - all.of_row * expected_);
  for (std::size_t k = 0; k < 4; ++k) {
    const auto at = static_cast<Index>(k);
    const VectorXd moved = precision * (all.slopes[k] * weighted);
    for (std::size_t j = 0; j < 4; ++j) {
      const double information = .5 * weighted.dot(all.slopes[j] * moved);
      EXPECT_NEAR(slopes.information(static_cast<Index>(j), at), information,
                  1e-7 * (1 + std::abs(information)));
    }
    const VectorXd along = all.of_row.transpose() * moved;
    EXPECT_LT((slopes.along.col(at) - along).norm(), 1e-7 * (1 + along.norm()));
  }
}

TEST_F(ManyVisits, VisitsThatRepeatExactlyAreNoMoreThanVisits) {
  for (Visit& visit : measured_.visits)
    visit = {visit.cell, -7, 0, visit.has_cpu, -8, 0};
  const VisitNoise visits = noise(amplitudes_);
  EXPECT_TRUE(std::isfinite(visits.log_density()));
  EXPECT_NEAR(visits.mean()[rows_.of_cell[0][0]], -7, 1e-12);
  EXPECT_NEAR(visits.mean()[rows_.of_cell[0][1]], -8, 1e-12);
}

// With one more visit of the same kind, the mean's covariance is that of one visit divided by their
// number.
TEST(VisitNoise, FallsWithTheNumberOfVisits) {
  for (const std::size_t count : {1U, 2U, 8U}) {
    Measured measured{VectorXd{{1e3}}, VectorXd{{1}}, VectorXd{{std::nan("")}}, VectorXd{{0}}, {}};
    measured.visits.assign(count, {0, -7, 1e-4, true, -8, 1e-4});
    const Rows rows(measured);
    MatrixXd weights(2, 3);
    weights << .5, .3, .2, 0, 1, 0;
    const VisitNoise noise(measured, rows, weights, usual_amplitudes(), Disturbed(measured));
    MatrixXd covariance = MatrixXd::Zero(2, 2);
    noise.add_to(covariance);
    const LogAmplitudes square = (2 * usual_amplitudes().array()).exp();
    const double one =
        .25 * square[gpu_of_visit] + .09 * square[cpu_of_visit] + .04 * square[com_of_visit] + 1e-4;
    const auto by = static_cast<double>(count);
    EXPECT_NEAR(covariance(0, 0), one / by, 1e-12);
    EXPECT_NEAR(covariance(0, 1), .3 * square[cpu_of_visit] / by, 1e-12);
    EXPECT_NEAR(covariance(1, 1), (square[cpu_of_visit] + square[cpu_phase] + 1e-4) / by, 1e-12);
  }
}

}  // namespace
}  // namespace gpucast::fit::components

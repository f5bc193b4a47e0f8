#include "gpucast/fit/components/visit_noise.h"

#include <Eigen/LU>
#include <cmath>
#include <numbers>

namespace gpucast::fit::components {

namespace {

const double log_two_pi = std::log(2 * std::numbers::pi);

// Inverts a symmetric matrix of a cell's rows: step, and cpu if `both`.
Eigen::Matrix2d inverse_of(const Eigen::Matrix2d& matrix, bool both) {
  if (both) return matrix.inverse();
  Eigen::Matrix2d result = Eigen::Matrix2d::Zero();
  result(0, 0) = 1 / matrix(0, 0);
  return result;
}

double log_determinant(const Eigen::Matrix2d& matrix, bool both) {
  return std::log(both ? matrix.determinant() : matrix(0, 0));
}

Eigen::Vector2d times(const Visit& visit) { return {visit.step, visit.has_cpu ? visit.cpu : 0}; }

}  // namespace

Rows::Rows(const Measured& measured) {
  const Eigen::Index count = measured.size();
  std::vector<bool> has_cpu(static_cast<std::size_t>(count), false);
  for (const Visit& visit : measured.visits)
    if (visit.has_cpu) has_cpu[static_cast<std::size_t>(visit.cell)] = true;
  for (Eigen::Index c = 0; c < count; ++c) {
    std::array<Eigen::Index, 3> at{-1, -1, -1};
    const auto add = [&](Kind kind, std::size_t row) {
      at[row] = size();
      Cell cell;
      cell.kind = kind;
      cell.n = measured.n[c];
      cell.gpus = measured.gpus[c];
      cells.push_back(cell);
    };
    add(Kind::step, 0);
    if (has_cpu[static_cast<std::size_t>(c)]) add(Kind::cpu, 1);
    if (!std::isnan(measured.kernel[c])) add(Kind::kernel, 2);
    of_cell.push_back(at);
  }
}

VisitNoise::VisitNoise(const Measured& measured, const Rows& rows, const Eigen::MatrixXd& weights,
                       const LogAmplitudes& log_amplitudes, const Disturbed& disturbed)
    : measured_(measured), rows_(rows), mean_(rows.size()) {
  const LogAmplitudes square = (2 * log_amplitudes.array()).exp();
  cpu_variance_ = square[cpu_of_visit];
  phase_variance_ = square[cpu_phase];
  const Eigen::Index count = measured.size();
  std::array<Eigen::VectorXd, 3> share;
  for (std::size_t part = 0; part < 3; ++part) {
    share[part].resize(count);
    for (Eigen::Index c = 0; c < count; ++c) {
      share[part][c] =
          weights(rows.of_cell[static_cast<std::size_t>(c)][0], static_cast<Eigen::Index>(part));
    }
    variance_[part] =
        square[static_cast<Eigen::Index>(gpu_of_visit + part)] * share[part].array().square();
  }
  std::vector<Eigen::Vector2d> sum(static_cast<std::size_t>(count), Eigen::Vector2d::Zero());
  of_cells_.assign(static_cast<std::size_t>(count), Eigen::Matrix2d::Zero());
  precisions_.reserve(measured.visits.size());
  for (std::size_t v = 0; v < measured.visits.size(); ++v) {
    const Visit& visit = measured.visits[v];
    const Eigen::Index c = visit.cell;
    Eigen::Matrix2d q;
    q(0, 0) = variance_[0][c] + variance_[1][c] + variance_[2][c] + visit.step_variance +
              disturbed.step[static_cast<Eigen::Index>(v)];
    q(0, 1) = q(1, 0) = cpu_variance_ * share[1][c];
    q(1, 1) = cpu_variance_ + phase_variance_ + visit.cpu_variance +
              disturbed.cpu[static_cast<Eigen::Index>(v)];
    of_visits_.emplace_back(q.diagonal());
    const Eigen::Matrix2d& precision = precisions_.emplace_back(inverse_of(q, visit.has_cpu));
    of_cells_[static_cast<std::size_t>(c)] += precision;
    sum[static_cast<std::size_t>(c)] += precision * times(visit);
    log_density_ -= .5 * (log_determinant(q, visit.has_cpu) + (visit.has_cpu ? 2 : 1) * log_two_pi);
  }
  kernel_.resize(count);
  for (Eigen::Index c = 0; c < count; ++c) {
    const auto& at = rows.of_cell[static_cast<std::size_t>(c)];
    const bool both = at[1] >= 0;
    Eigen::Matrix2d& of_cell = of_cells_[static_cast<std::size_t>(c)];
    of_cell = inverse_of(of_cell, both);
    const Eigen::Vector2d mean = of_cell * sum[static_cast<std::size_t>(c)];
    mean_[at[0]] = mean[0];
    if (both) mean_[at[1]] = mean[1];
    log_density_ += .5 * (log_determinant(of_cell, both) + (both ? 2 : 1) * log_two_pi);
    if (at[2] >= 0) {
      mean_[at[2]] = measured.kernel[c];
      kernel_[c] = measured.kernel_variance[c] + disturbed.kernel[c];
    }
  }
  for (std::size_t v = 0; v < measured.visits.size(); ++v) {
    const Visit& visit = measured.visits[v];
    const auto& at = rows.of_cell[static_cast<std::size_t>(visit.cell)];
    const Eigen::Vector2d mean(mean_[at[0]], at[1] >= 0 ? mean_[at[1]] : 0);
    const Eigen::Vector2d off = times(visit) - mean;
    log_density_ -= .5 * off.dot(precisions_[v] * off);
  }
}

void VisitNoise::add_to(Eigen::MatrixXd& covariance) const {
  for (std::size_t c = 0; c < of_cells_.size(); ++c) {
    const auto& at = rows_.of_cell[c];
    covariance(at[0], at[0]) += of_cells_[c](0, 0);
    if (at[1] >= 0) {
      covariance(at[1], at[1]) += of_cells_[c](1, 1);
      covariance(at[0], at[1]) += of_cells_[c](0, 1);
      covariance(at[1], at[0]) += of_cells_[c](0, 1);
    }
    if (at[2] >= 0) covariance(at[2], at[2]) += kernel_[static_cast<Eigen::Index>(c)];
  }
}

VisitNoise::Slopes VisitNoise::slopes(const Eigen::MatrixXd& inverse,
                                      const Eigen::VectorXd& alpha) const {
  const std::size_t count = measured_.visits.size();
  Slopes result{Eigen::Vector4d::Zero(), Eigen::Matrix4d::Zero(),
                Eigen::Matrix<double, Eigen::Dynamic, 4>::Zero(rows_.size(), 4)};
  std::vector<std::array<Eigen::Vector2d, 4>> q(count);
  Eigen::Matrix<double, Eigen::Dynamic, 4> mean =
      Eigen::Matrix<double, Eigen::Dynamic, 4>::Zero(rows_.size(), 4);
  const auto block = [&](const std::array<Eigen::Index, 3>& at) {
    Eigen::Matrix2d result2 = Eigen::Matrix2d::Zero();
    result2(0, 0) = inverse(at[0], at[0]);
    if (at[1] >= 0) {
      result2(1, 1) = inverse(at[1], at[1]);
      result2(0, 1) = result2(1, 0) = inverse(at[0], at[1]);
    }
    return result2;
  };
  const auto part = [](const std::array<Eigen::Index, 3>& at, const auto& column) {
    return Eigen::Vector2d(column[at[0]], at[1] >= 0 ? column[at[1]] : 0);
  };
  std::vector<Eigen::Matrix2d> posterior(of_cells_.size());
  for (std::size_t c = 0; c < of_cells_.size(); ++c)
    posterior[c] = of_cells_[c] - of_cells_[c] * block(rows_.of_cell[c]) * of_cells_[c];
  for (std::size_t v = 0; v < count; ++v) {
    const Visit& visit = measured_.visits[v];
    const auto c = static_cast<std::size_t>(visit.cell);
    const auto& at = rows_.of_cell[c];
    const Eigen::Vector2d expected = part(at, mean_) - of_cells_[c] * part(at, alpha);
    const Eigen::Vector2d own = precisions_[v] * (times(visit) - expected);
    const Eigen::Matrix2d inverse_own =
        precisions_[v] - precisions_[v] * posterior[c] * precisions_[v];
    // Derivatives of the visit's covariance with respect to the log amplitudes: twice the parts.
    const double share =
        variance_[1][visit.cell] > 0 ? std::sqrt(variance_[1][visit.cell] / cpu_variance_) : 0;
    std::array<Eigen::Matrix2d, 4> d;
    for (auto& derivative : d)
      derivative.setZero();
    d[0](0, 0) = 2 * variance_[0][visit.cell];
    d[1] << 2 * variance_[1][visit.cell], 2 * cpu_variance_ * share, 2 * cpu_variance_ * share,
        2 * cpu_variance_;
    d[2](0, 0) = 2 * variance_[2][visit.cell];
    d[3](1, 1) = 2 * phase_variance_;
    for (std::size_t j = 0; j < 4; ++j) {
      result.gradient[static_cast<Eigen::Index>(j)] +=
          .5 * ((inverse_own * d[j]).trace() - own.dot(d[j] * own));
      q[v][j] = d[j] * own;
      const Eigen::Vector2d weighted = precisions_[v] * q[v][j];
      mean(at[0], static_cast<Eigen::Index>(j)) += weighted[0];
      if (at[1] >= 0) mean(at[1], static_cast<Eigen::Index>(j)) += weighted[1];
    }
  }
  for (std::size_t c = 0; c < of_cells_.size(); ++c) {
    const auto& at = rows_.of_cell[c];
    for (Eigen::Index j = 0; j < 4; ++j) {
      const Eigen::Vector2d reduced = of_cells_[c] * part(at, mean.col(j));
      mean(at[0], j) = reduced[0];
      if (at[1] >= 0) mean(at[1], j) = reduced[1];
    }
  }
  result.along = inverse * mean;
  for (std::size_t v = 0; v < count; ++v) {
    const auto c = static_cast<std::size_t>(measured_.visits[v].cell);
    const auto& at = rows_.of_cell[c];
    for (Eigen::Index j = 0; j < 4; ++j) {
      const Eigen::Vector2d expected =
          part(at, mean.col(j)) - of_cells_[c] * part(at, result.along.col(j));
      const Eigen::Vector2d own = precisions_[v] * (q[v][static_cast<std::size_t>(j)] - expected);
      for (Eigen::Index k = 0; k < 4; ++k)
        result.information(k, j) += .5 * q[v][static_cast<std::size_t>(k)].dot(own);
    }
  }
  return result;
}

}  // namespace gpucast::fit::components

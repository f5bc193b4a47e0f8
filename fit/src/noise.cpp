#include "gpucast/fit/noise.h"

#include <Eigen/QR>
#include <limits>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/identify.h"
#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

constexpr double smallest_sigma = 1e-9;  // a positive divisor even for identical repetitions

std::vector<std::size_t> repeated_cells(const Observations& observations, std::size_t of_group) {
  std::vector<std::size_t> cells;
  for (std::size_t j = 0; j < observations.cell_count(); ++j)
    if (group(observations.cells()[j]) == of_group && observations.size(j) >= 2) cells.push_back(j);
  return cells;
}

// A first scale: differences of consecutive repetitions do not depend on the cell's centre, and
// have a standard deviation of sqrt(2) sigma.
double difference_scale(const Observations& observations, const std::vector<std::size_t>& cells) {
  std::vector<double> differences;
  for (const std::size_t j : cells) {
    for (std::size_t i = observations.first(j) + 1; i < observations.first(j + 1); ++i) {
      differences.push_back(
          std::abs(observations.log_seconds()[i] - observations.log_seconds()[i - 1]));
    }
  }
  return std::max(smallest_sigma, median(differences) / normal_mad / std::sqrt(2.0));
}

// Where a cell's samples are densest: even if most samples are disturbed, they scatter, and the
// others agree. With many samples most are undisturbed, and the median is used.
double densest(const Observations& observations, double scale, std::size_t cell) {
  constexpr std::size_t many = 32;
  if (observations.size(cell) > many) return observations.median_log(cell);
  const auto& y = observations.log_seconds();
  double best = 0;
  double most = -1;
  for (const std::size_t i : observations.samples(cell)) {
    double near = 0;
    for (const std::size_t other : observations.samples(cell))
      near += tukey_weight((y[other] - y[i]) / scale);
    if (near > most) {
      most = near;
      best = y[i];
    }
  }
  return best;
}

// Moves the centre to the weighted mean of the samples; returns their weighted squares around it.
double recenter(const Observations& observations, double scale, CellCenter& center) {
  double squares = 0;
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    double weight = 0;
    double sum = 0;
    squares = 0;
    for (const std::size_t i : observations.samples(center.cell)) {
      const double deviation = observations.log_seconds()[i] - center.value;
      const double w = tukey_weight(deviation / scale);
      weight += w;
      sum += w * deviation;
      squares += w * deviation * deviation;
    }
    center.weight = weight;
    if (!(weight > 0)) break;
    center.value += sum / weight;
  }
  return squares;
}

}  // namespace

PureError pure_error(const Observations& observations, std::size_t of_group) {
  PureError result;
  result.sigma = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::size_t> cells = repeated_cells(observations, of_group);
  if (cells.empty()) return result;
  // Disturbed samples inflate the first scale, and with it the squares that keep their weight:
  // repeat with the new scale until it converges.
  constexpr int rounds = 4;
  double scale = difference_scale(observations, cells);
  for (int round = 0; round < rounds; ++round) {
    double squares = 0;
    result.freedom = 0;
    result.centers.clear();
    for (const std::size_t j : cells) {
      CellCenter center{j, densest(observations, scale, j), 0};
      const double own = recenter(observations, scale, center);
      if (center.weight > 1) {
        squares += own;
        result.freedom += center.weight - 1;
        result.centers.push_back(center);
      }
    }
    if (!result.known()) return result;
    scale = std::max(smallest_sigma, std::sqrt(squares / result.freedom / tukey_mean_square));
  }
  result.sigma = scale;
  return result;
}

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A direction cannot be tested if the parameters mimic all but this share of its norm.
constexpr double visible_share = 1e-3;

// A named direction: seconds that it adds to a cell whose model time is `time`.
struct Direction {
  const char* name;
  double (*seconds)(const model::StepTime<double>& time, const Cell& cell);
};

constexpr Direction directions[] = {
    {"imbalance", [](const auto& time, const Cell& cell) { return time.gpu * (cell.gpus - 1); }},
    {"synchronization",
     [](const auto& /*time*/, const Cell& cell) { return cell.gpus * cell.gpus; }},
    {"host", [](const auto& /*time*/, const Cell& cell) { return cell.n * cell.gpus; }}};

// Weighted least squares on cell means, with the tangent space of the model projected out.
class Projection {
 public:
  Projection(const model::StepModel& model, const Observations& observations,
             const Estimate& estimate, const PureError& pure)
      : root_weight_(static_cast<Eigen::Index>(pure.centers.size())),
        residual_(root_weight_.size()) {
    Eigen::MatrixXd all(static_cast<Eigen::Index>(observations.cell_count()),
                        static_cast<Eigen::Index>(model.parameter_count()));
    Eigen::VectorXd log_time(all.rows());
    evaluate(model, observations.cells(), estimate.z.data(), log_time.data(), all.data());
    Eigen::MatrixXd tangent(root_weight_.size(), all.cols());
    for (Eigen::Index row = 0; row < root_weight_.size(); ++row) {
      const CellCenter& center = pure.centers[static_cast<std::size_t>(row)];
      const auto cell = static_cast<Eigen::Index>(center.cell);
      root_weight_[row] = std::sqrt(center.weight) / pure.sigma;
      tangent.row(row) = root_weight_[row] * all.row(cell);
      residual_[row] = root_weight_[row] * (center.value - log_time[cell]);
    }
    tangent_.setThreshold(1e-10);
    tangent_.compute(tangent);
    residual_ -= mimicked(residual_);
  }

  // The part of a relative change of the times that parameters cannot mimic; empty if that is
  // nearly nothing.
  Eigen::VectorXd rest(const Eigen::VectorXd& change) const {
    const Eigen::VectorXd weighted = root_weight_.cwiseProduct(change);
    Eigen::VectorXd left = weighted - mimicked(weighted);
    return left.norm() > visible_share * weighted.norm() ? left : Eigen::VectorXd{};
  }

  // Mean square of the residuals along the columns, in units of pure error.
  FTest test(const Eigen::MatrixXd& columns, double pure_freedom) const {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> along(columns);
    const Eigen::VectorXd fitted = columns * along.solve(residual_);
    const auto freedom = static_cast<double>(along.rank());
    return {fitted.squaredNorm() / freedom, freedom, pure_freedom};
  }

 private:
  Eigen::VectorXd mimicked(const Eigen::VectorXd& change) const {
    const Eigen::MatrixXd q =
        tangent_.householderQ() * Eigen::MatrixXd::Identity(tangent_.rows(), tangent_.rank());
    return q * (q.transpose() * change);
  }

  Eigen::VectorXd root_weight_;
  Eigen::VectorXd residual_;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> tangent_;
};

}  // namespace

std::array<double, group_count> leverage(const model::StepModel& model,
                                         const Observations& observations,
                                         const Estimate& estimate) {
  const Eigen::VectorXd by_cell =
      WeightedJacobian(model, observations, estimate, Weighting::robust).leverage();
  std::array<double, group_count> sums{};
  for (std::size_t j = 0; j < observations.cell_count(); ++j)
    sums[group(observations.cells()[j])] += by_cell[static_cast<Eigen::Index>(j)];
  return sums;
}

Noise noise(const Observations& observations, const Estimate& estimate, std::size_t of_group,
            double parameters_used) {
  Noise result{estimate.sigma[of_group], nan, 0, {nan, nan, nan}};
  const PureError pure = pure_error(observations, of_group);
  if (!pure.known()) return result;
  result.pure_error = pure.sigma;
  double lack_squares = 0;
  double weights = 0;
  for (const CellCenter& center : pure.centers) {
    const double lack = center.value - estimate.log_fit[static_cast<Eigen::Index>(center.cell)];
    lack_squares += center.weight * lack * lack;
    weights += center.weight;
  }
  const auto cells = static_cast<double>(pure.centers.size());
  const double freedom = cells - parameters_used;
  result.lack_of_fit = {nan, freedom, pure.freedom};
  if (freedom < 1) return result;
  const double lack_mean_square = lack_squares / freedom;
  const double pure_variance = pure.sigma * pure.sigma;
  result.lack_of_fit.f = lack_mean_square / pure_variance;
  // Chance alone moves F by sqrt(2 / freedom + 2 / pure freedom) about 1.
  const double chance = std::sqrt(2 / freedom + 2 / pure.freedom);
  if (result.lack_of_fit.f > 1 + chance) {
    // E[lack mean square] = sigma_pe^2 + (weight a cell) tau^2
    result.between_cells = std::sqrt((lack_mean_square - pure_variance) / (weights / cells));
  }
  return result;
}

std::vector<Misfit> misfits(const model::StepModel& model, const Observations& observations,
                            const Estimate& estimate) {
  const PureError pure = pure_error(observations, group(Cell{}));
  if (!model.terms() || !pure.known()) return {};
  const Projection projection(model, observations, estimate, pure);
  const Eigen::VectorXd values = values_from_log(model, estimate.z);
  std::vector<Misfit> result;
  Eigen::MatrixXd all(static_cast<Eigen::Index>(pure.centers.size()), 0);
  for (const auto& [name, seconds] : directions) {
    Eigen::VectorXd change(all.rows());  // relative
    for (Eigen::Index row = 0; row < change.size(); ++row) {
      const Cell& cell = observations.cells()[pure.centers[static_cast<std::size_t>(row)].cell];
      const auto time = model.step_seconds(values.data(), cell.n, cell.gpus);
      change[row] = seconds(time, cell) / time.total();
    }
    const Eigen::VectorXd rest = projection.rest(change);
    if (rest.size() == 0) continue;
    result.push_back({name, projection.test(rest, pure.freedom)});
    all.conservativeResize(Eigen::NoChange, all.cols() + 1);
    all.rightCols(1) = rest / rest.norm();
  }
  if (!result.empty()) result.push_back({"any", projection.test(all, pure.freedom)});
  return result;
}

}  // namespace gpucast::fit

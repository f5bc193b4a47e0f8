#include "gpucast/fit/noise.h"

#include <cmath>
#include <limits>

#include "gpucast/fit/robust.h"
#include "gpucast/fit/weighted_jacobian.h"

namespace gpucast::fit {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double smallest_scale = 1e-9;  // identical repetitions still make a scale to divide by

// Differences of neighbouring repetitions know nothing of the cell's centre; they scatter by
// sqrt(2) sigma.
double pure_error_scale(const Observations& observations, std::size_t tested) {
  std::vector<double> differences;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    if (group(observations.cells()[j]) != tested) {
      continue;
    }
    for (std::size_t i = observations.first(j) + 1; i < observations.first(j + 1); ++i) {
      differences.push_back(
          std::abs(observations.log_seconds()[i] - observations.log_seconds()[i - 1]));
    }
  }
  return differences.empty()
             ? nan
             : std::max(smallest_scale, median(differences) / normal_mad / std::sqrt(2.0));
}

struct Center {
  double value = 0;    // robust mean of the cell's log times
  double weight = 0;   // effective number of samples
  double squares = 0;  // weighted squares around it
};

Center robust_center(const Observations& observations, std::size_t cell, double scale) {
  Center center;
  center.value = observations.median_log(cell);
  for (int round = 0; round < 10; ++round) {
    double weight = 0;
    double sum = 0;
    double squares = 0;
    for (std::size_t i = observations.first(cell); i < observations.first(cell + 1); ++i) {
      const double deviation = observations.log_seconds()[i] - center.value;
      const double w = tukey_weight(deviation / scale);
      weight += w;
      sum += w * deviation;
      squares += w * deviation * deviation;
    }
    center.weight = weight;
    center.squares = squares;
    if (!(weight > 0)) {
      break;
    }
    center.value += sum / weight;
  }
  return center;
}

}  // namespace

double leverage(const model::StepModel& model, const Observations& observations,
                const Estimate& estimate, std::size_t of_group) {
  const Eigen::VectorXd by_cell =
      WeightedJacobian(model, observations, estimate, Weighting::robust).leverage();
  double sum = 0;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    if (group(observations.cells()[j]) == of_group) {
      sum += by_cell[static_cast<Eigen::Index>(j)];
    }
  }
  return sum;
}

Noise noise(const Observations& observations, const Estimate& estimate, std::size_t tested,
            double parameters_used) {
  Noise result{estimate.sigma[tested], nan, 0, nan, nan, nan};
  const double scale = pure_error_scale(observations, tested);
  if (!std::isfinite(scale)) {
    return result;
  }
  double pure_squares = 0;
  double pure_freedom = 0;
  double lack_squares = 0;
  double cells = 0;
  double weights = 0;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    if (group(observations.cells()[j]) != tested || observations.size(j) < 2) {
      continue;
    }
    const Center center = robust_center(observations, j, scale);
    if (center.weight <= 1) {
      continue;
    }
    const double lack = center.value - estimate.log_fit[static_cast<Eigen::Index>(j)];
    pure_squares += center.squares;
    pure_freedom += center.weight - 1;
    lack_squares += center.weight * lack * lack;
    weights += center.weight;
    cells += 1;
  }
  if (!(pure_freedom > 0)) {
    return result;
  }
  const double pure_variance =
      std::max(smallest_scale * smallest_scale, pure_squares / pure_freedom / tukey_mean_square);
  result.pure_error = std::sqrt(pure_variance);
  result.pure_freedom = pure_freedom;
  result.lack_freedom = cells - parameters_used;
  if (result.lack_freedom < 1) {
    return result;
  }
  const double lack_mean_square = lack_squares / result.lack_freedom;
  result.f = lack_mean_square / pure_variance;
  // E[lack mean square] = sigma_pe^2 + (weights a cell) tau^2
  result.between_cells =
      std::sqrt(std::max(0.0, (lack_mean_square - pure_variance) / (weights / cells)));
  return result;
}

}  // namespace gpucast::fit

#include "gpucast/fit/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

constexpr double smallest_scale = 1e-9;  // a positive divisor even for identical repetitions

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
  return std::max(smallest_scale, median(differences) / normal_mad / std::sqrt(2.0));
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
    scale = std::max(smallest_scale, std::sqrt(squares / result.freedom / tukey_mean_square));
  }
  result.sigma = scale;
  return result;
}

}  // namespace gpucast::fit

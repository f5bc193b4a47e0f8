// Forecasts that average over forms.
#pragma once

#include <tuple>
#include <utility>

#include "gpucast/fit/beyond.h"
#include "gpucast/fit/parallel.h"

namespace gpucast::fit {

// The mixture's distribution of ln T in one cell.
class CellMixture {
 public:
  // Adds a member. `variance`: of the expected ln T, `of_measured`: the addition for a measurement;
  // `shares`: of T_gpu, T_cpu and T_com; `scale`: of Student's t for a standard deviation of 1.
  void add(double weight, double mean, double variance, double of_measured,
           const Eigen::RowVector3d& shares, double scale = 1) {
    expected_.add(weight, mean, scale * std::sqrt(variance + 1e-24));
    measured_.add(weight, mean, scale * std::sqrt(variance + of_measured));
    mean_ += weight * mean;
    square_ += weight * (variance + mean * mean);
    shares_ += weight * shares;
  }

  double median() const { return std::exp(measured_.quantile(.5)); }

 private:
  friend struct AveragedForecast;
  StudentMixture expected_, measured_;
  double mean_ = 0, square_ = 0;  // of ln T
  Eigen::RowVector3d shares_ = Eigen::RowVector3d::Zero();
};

// Step times of several cells in seconds, an entry per cell. Intervals hold 90 %.
struct AveragedForecast {
  Eigen::VectorXd seconds;              // median
  Eigen::VectorXd low, high;            // of a measurement
  Eigen::VectorXd mean_low, mean_high;  // of the expected time; contains the median
  Eigen::VectorXd spread;               // standard deviation of ln T without a measurement's noise
  Eigen::MatrixXd parts;                // T_gpu, T_cpu, T_com; a row per cell

  explicit AveragedForecast(Eigen::Index count)
      : seconds(count),
        low(count),
        high(count),
        mean_low(count),
        mean_high(count),
        spread(count),
        parts(count, 3) {}

  // The members in this order, for Python.
  auto columns() && {
    return std::tuple(std::move(seconds), std::move(low), std::move(high), std::move(mean_low),
                      std::move(mean_high), std::move(spread), std::move(parts));
  }

  // `outcomes`: possible breaks beyond the data; the forecast itself assumes none.
  void set(Eigen::Index at, const CellMixture& cell,
           const std::vector<Beyond::Outcome>& outcomes = {}) {
    const Ends of_one = ends(cell.measured_, outcomes);
    const Ends of_mean = ends(cell.expected_, outcomes);
    seconds[at] = cell.median();
    low[at] = std::min(seconds[at], std::exp(of_one.low));
    high[at] = std::max(seconds[at], std::exp(of_one.high));
    // If members disagree and each has noise of its own, the median of measurements may lie beyond
    // nearly all of the expected times; the interval is then extended to it.
    mean_low[at] = std::min(seconds[at], std::exp(of_mean.low));
    mean_high[at] = std::max(seconds[at], std::exp(of_mean.high));
    spread[at] =
        std::sqrt(std::max(0.0, cell.square_ - cell.mean_ * cell.mean_) + mean_square(outcomes));
    parts.row(at) = seconds[at] * cell.shares_ / cell.shares_.sum();
  }
};

// Forecasts `count` cells in pieces by `threads` threads (0: one per core): work(first, cells of
// the piece, forecast).
template <class Work>
AveragedForecast forecast_in_pieces(Eigen::Index count, unsigned threads, const Work& work) {
  constexpr Eigen::Index piece = 64;
  AveragedForecast result(count);
  const auto pieces = static_cast<std::size_t>((count + piece - 1) / piece);
  parallel_for(pieces, threads, 1, [&](std::size_t i) {
    const Eigen::Index first = static_cast<Eigen::Index>(i) * piece;
    work(first, std::min(piece, count - first), result);
  });
  return result;
}

}  // namespace gpucast::fit

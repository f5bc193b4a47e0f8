// Forecasts that are averaged over forms.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "gpucast/fit/beyond.h"
#include "gpucast/fit/parallel.h"
#include "gpucast/fit/student_mixture.h"

namespace gpucast::fit {

// Step times of some cells, an entry a cell; seconds. Intervals hold 90 %.
struct AveragedForecast {
  Eigen::VectorXd seconds;              // median
  Eigen::VectorXd low, high;            // of a measurement
  Eigen::VectorXd mean_low, mean_high;  // of the expected time; holds the median
  Eigen::VectorXd spread;  // standard deviation of ln T, a measurement's noise left out
  Eigen::MatrixXd parts;   // T_gpu, T_cpu, T_com; a row a cell

  explicit AveragedForecast(Eigen::Index count)
      : seconds(count),
        low(count),
        high(count),
        mean_low(count),
        mean_high(count),
        spread(count),
        parts(count, 3) {}

  // All but the parts of a cell, from the mixtures of its expected and its measured ln T. `mean`,
  // `square`: of ln T and its square, over the members. `outcomes`: what may come beyond the data;
  // the forecast is that of no break.
  void set(Eigen::Index cell, const StudentMixture& expected, const StudentMixture& measured,
           double mean, double square, const std::vector<Beyond::Outcome>& outcomes = {}) {
    const Ends of_one = ends(measured, outcomes);
    const Ends of_mean = ends(expected, outcomes);
    seconds[cell] = std::exp(measured.quantile(.5));
    low[cell] = std::min(seconds[cell], std::exp(of_one.low));
    high[cell] = std::max(seconds[cell], std::exp(of_one.high));
    // Members that disagree, each with noise of its own, may have the median of what is measured
    // beyond nearly all of what is expected; the interval then reaches as far.
    mean_low[cell] = std::min(seconds[cell], std::exp(of_mean.low));
    mean_high[cell] = std::max(seconds[cell], std::exp(of_mean.high));
    spread[cell] = std::sqrt(std::max(0.0, square - mean * mean) + mean_square(outcomes));
  }
};

// A forecast of `count` cells, made a piece at a time by `threads` threads (0: one a core):
// work(first, cells of the piece, forecast).
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

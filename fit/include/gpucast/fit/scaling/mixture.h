// Forecasts of a program that is known by its step times alone: a mixture over forms and over
// amplitudes of the process around them.
//
// Each component forecasts ln T as a Gaussian process does: the form's time, what the measured
// cells say of the deviation from it, and the variance that coefficients, process and noise leave.
// The mixture's quantiles are those of Student's t with 8 degrees of freedom about each component,
// since variances are themselves estimated.
//
// Beyond the GPU counts measured a break of the law is possible (beyond.h). Where the fit to fewer
// counts was further off than it said, the law's slope in ln N is as uncertain as that showed, and
// what is held plausible of any program, -1 +- 0.5, has its share in it.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpucast/fit/averaged_forecast.h"
#include "gpucast/fit/beyond.h"
#include "gpucast/fit/scaling/cells.h"
#include "gpucast/fit/scaling/form_fit.h"
#include "gpucast/fit/scaling/priors.h"
#include "gpucast/fit/scaling/process.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

// The logarithm of a sum of values that are given as logarithms, and may leave the range of
// numbers.
inline double log_sum_exp(const std::vector<double>& logarithms) {
  const double largest = *std::ranges::max_element(logarithms);
  double sum = 0;
  for (const double each : logarithms)
    sum += std::exp(each - largest);
  return largest + std::log(sum);
}

struct Component {
  model::scaling::Form form;
  Deviates deviates{};
  Eigen::VectorXd parameters;
  double weight = 0;  // all weights sum to 1
};

class Mixture {
 public:
  // Components with the same deviates stand next to one another. Throws std::invalid_argument where
  // a form and its coefficients do not go together, or there are no cells or components.
  // `slope_error`: standard deviation of the slope of ln T in ln N beyond the counts measured, by
  // which forecasts of the largest were off beyond what was said.
  Mixture(Cells cells, std::vector<Component> components, double slope_error);

  const Cells& cells() const { return cells_; }
  double slope_error() const { return slope_error_; }
  const std::vector<Component>& components() const { return components_; }
  // Standard deviations of a component's log coefficients.
  Eigen::VectorXd log_errors(std::size_t component) const;

  double noise() const;  // relative, of a cell: the root of the components' mean square

  // Cells::variance is added to that of one measurement's ln T. By `threads` threads (0: one a
  // core).
  AveragedForecast forecast(const Cells& at, unsigned threads) const;

  // The seconds of `forecast` alone, which take a fraction of the time.
  Eigen::VectorXd medians(const Cells& at, unsigned threads) const;

  // `count` draws of the expected ln T of all cells together, a row each.
  Eigen::MatrixXd draws(const Cells& at, Eigen::Index count, std::uint64_t seed) const;

 private:
  // What components that share their deviates share.
  struct Point {
    Amplitudes amplitudes{};
    Process process;
  };

  // What one component says of some cells.
  struct Predicted {
    double noise;  // variance
    Eigen::VectorXd mean;
    Eigen::VectorXd variance;    // noise left out; empty where a covariance was asked for
    Eigen::MatrixXd covariance;  // empty unless asked for
    Eigen::MatrixXd parts;       // shares of T_gpu, T_cpu, T_com
  };
  class Prediction;

  // By what cells beyond the counts measured are off together (standard deviations of ln T): the
  // slope's error, and another node.
  struct Off {
    Eigen::VectorXd by_slope, by_node;
  };
  Off off_beyond(const Cells& at) const;

  // d ln T / d ln N from the most GPUs measured to each cell that lies beyond, else 0: the law's in
  // part; and how far ln T is moved by that.
  struct Ideal {
    Eigen::VectorXd slopes, shift;
  };
  // `mean`: of the components in the cells.
  Ideal ideal(const Cells& at, const Eigen::VectorXd& mean) const;
  Eigen::VectorXd mean(const Cells& at) const;

  // What the measured cells that are unlike all others share with the same cells, forecast.
  Eigen::MatrixXd local_covariance(const Cells& at) const;
  AveragedForecast forecast(const Cells& all, unsigned threads, bool medians_only) const;

  Cells cells_;
  std::vector<Component> components_;
  Beyond beyond_;
  double slope_error_;  // the law's, and by how much its slope counts
  double trust_;
  std::vector<Point> points_;
  std::vector<std::size_t> point_of_;  // each component's
  std::vector<FormFit> fits_;
};

// The mixture for measured cells (at least one), fitted by `threads` threads (0: one a core).
Mixture fit_scaling(const Cells& measured, unsigned threads);

}  // namespace gpucast::fit::scaling

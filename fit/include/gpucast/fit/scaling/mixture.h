// Forecasts of a program that is known only by its step times: a mixture over forms and over
// amplitudes of the process around them.
//
// Each component forecasts ln T like a Gaussian process: the form's time, the deviation predicted
// from the measured cells, and the variance of coefficients, process and noise. The mixture's
// quantiles are those of Student's t with 8 degrees of freedom about each component, since
// variances are themselves estimated.
//
// Beyond the measured GPU counts the law may break (beyond.h). If a fit to fewer counts had a
// larger error than its forecast said, the law's slope in ln N is that uncertain, and is averaged
// with the slope that is plausible for any program, -1 +- 0.5. The law's slope in ln n beyond the
// largest measured size is as uncertain as a fit to smaller sizes was wrong.
#pragma once

#include "gpucast/fit/averaged_forecast.h"
#include "gpucast/fit/scaling/form_fit.h"

namespace gpucast::fit::scaling {

// The logarithm of a sum of values that are given as logarithms, and may exceed the range of
// numbers.
inline double log_sum_exp(const std::vector<double>& logarithms) {
  const double largest = *std::ranges::max_element(logarithms);
  double sum = 0;
  for (const double logarithm : logarithms)
    sum += std::exp(logarithm - largest);
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
  // Components with the same deviates are adjacent. Throws std::invalid_argument if a form does not
  // match its coefficients, or there are no cells or components. `slope_error`: standard deviation
  // of the slope of ln T in ln N beyond the measured counts, by which forecasts of the largest
  // counts exceeded their stated error; `size_error`: the same for ln n beyond the largest size.
  Mixture(Cells cells, std::vector<Component> components, double slope_error,
          double size_error = 0);

  const Cells& cells() const { return cells_; }
  double slope_error() const { return slope_error_; }
  const std::vector<Component>& components() const { return components_; }
  // Standard deviations of a component's log coefficients.
  Eigen::VectorXd log_errors(std::size_t component) const;

  double noise() const;  // relative, of a cell: the root of the components' mean square

  // Cells::variance is added to the variance of one measurement's ln T. Uses `threads` threads (0:
  // one per core).
  AveragedForecast forecast(const Cells& at, unsigned threads) const;

  // Only the seconds of `forecast`, in a fraction of the time.
  Eigen::VectorXd medians(const Cells& at, unsigned threads) const;

  // `count` draws of the expected ln T of all cells together, a row each.
  Eigen::MatrixXd draws(Cells at, Eigen::Index count, std::uint64_t seed) const;

 private:
  // Common data of components with the same deviates.
  struct Point {
    Amplitudes amplitudes{};
    Process process;
  };

  // One component's prediction of some cells.
  struct Predicted {
    double noise;  // variance
    Eigen::VectorXd mean;
    Eigen::VectorXd variance;    // without noise; empty if a covariance was requested
    Eigen::MatrixXd covariance;  // empty unless requested
    Eigen::MatrixXd parts;       // shares of T_gpu, T_cpu, T_com
  };
  class Prediction;

  // Common deviations of cells beyond the measured counts and sizes (standard deviations of ln T):
  // the errors of the slopes, and another node.
  struct Off {
    Eigen::VectorXd by_slope, by_size, by_node;
    Eigen::VectorXd by_node_unmeasured;  // 0 where the network was measured and bytes are stated

    // The deviation by another node of a component, which may contain the measured exchange.
    const Eigen::VectorXd& of_node(const Component& component) const;
  };
  Off off_beyond(const Cells& at) const;

  // d ln T / d ln N from the largest measured count to each cell beyond it, otherwise 0, partly
  // from the law; and the resulting change of ln T.
  struct Ideal {
    Eigen::VectorXd slopes, shift;
  };
  // `mean`: of the components in the cells.
  Ideal ideal(const Cells& at, const Eigen::VectorXd& mean) const;
  Eigen::VectorXd mean(const Cells& at) const;

  // The covariance of measured cells that are unlike all others with forecasts of the same cells.
  Eigen::MatrixXd local_covariance(const Cells& at) const;
  AveragedForecast forecast(const Cells& all, unsigned threads, bool medians_only) const;

  Cells cells_;
  std::vector<Component> components_;
  Beyond beyond_;
  double slope_error_;  // the law's error, and the weight of its slope
  double trust_;
  double size_error_;
  std::vector<Point> points_;
  std::vector<std::size_t> point_of_;  // each component's
  std::vector<FormFit> fits_;
};

// The mixture for measured cells (at least one), fitted by `threads` threads (0: one per core).
Mixture fit_scaling(const Cells& measured, unsigned threads);

}  // namespace gpucast::fit::scaling

// How the deviations of two rows from the form go together:
//
//     ln T = ln f + s_gpu d_gpu + s_cpu d_cpu + s_com d_com + s_gpu k_gpu + s_com k_com
//
// with s the shares of the parts in the row's time, d Gaussian processes whose covariance is
// a^2 exp(-distance / length) (Ornstein and Uhlenbeck), and k deviations of a cell alone. Inside
// the data the processes follow them; far from the data each has its full variance and the forecast
// returns to the form. A row that is the time of one part has that part's share 1.
#pragma once

#include <Eigen/Core>
#include <array>

#include "gpucast/fit/components/amplitudes.h"
#include "gpucast/fit/components/component_form.h"

namespace gpucast::fit::components {

// Correlations between rows `a` and columns `b`; they depend on no amplitude.
class Correlations {
 public:
  Correlations(const Sites& a, const Sites& b);

  // The part of the covariance that each amplitude up to com_of_cell has, for an amplitude of 1.
  std::array<Eigen::MatrixXd, first_of_visit> pieces(const Eigen::MatrixXd& weights_a,
                                                     const Eigen::MatrixXd& weights_b) const;

 private:
  Eigen::MatrixXd gpu_, cpu_, com_, gpus_, same_;
};

// The covariance that amplitudes make of its pieces.
Eigen::MatrixXd sum(const std::array<Eigen::MatrixXd, first_of_visit>& pieces,
                    const LogAmplitudes& log_amplitudes);

// Variance of the expected time of each row, far from all data.
Eigen::VectorXd variances(const Eigen::MatrixXd& weights, const LogAmplitudes& log_amplitudes);

// Variance that one visit has beyond it.
Eigen::VectorXd visit_variances(const Eigen::MatrixXd& weights,
                                const LogAmplitudes& log_amplitudes);

}  // namespace gpucast::fit::components

// The covariance of the deviations of two rows from the form:
//
//     ln T = ln f + s_gpu d_gpu + s_cpu d_cpu + s_com d_com + s_gpu k_gpu + s_com k_com
//
// with s the shares of the parts in the row's time, d Gaussian processes with covariance a^2
// exp(-distance / length) (Ornstein and Uhlenbeck), and k deviations of a single cell. Near the
// data the processes follow them; far from the data each has its full variance and the forecast
// returns to the form. A row that is the time of one part has a share of 1 of that part.
#pragma once

#include <Eigen/Core>
#include <array>

#include "gpucast/fit/components/amplitudes.h"
#include "gpucast/fit/components/component_form.h"

namespace gpucast::fit::components {

// Correlations between rows `a` and columns `b`; independent of the amplitudes.
class Correlations {
 public:
  Correlations(const Sites& a, const Sites& b);

  // The covariance's part for each amplitude up to com_of_cell, with an amplitude of 1.
  std::array<Eigen::MatrixXd, first_of_visit> pieces(const Eigen::MatrixXd& weights_a,
                                                     const Eigen::MatrixXd& weights_b) const;

 private:
  Eigen::MatrixXd gpu_, cpu_, com_, gpus_, same_;
};

// The sum of these parts with the amplitudes.
Eigen::MatrixXd sum(const std::array<Eigen::MatrixXd, first_of_visit>& pieces,
                    const LogAmplitudes& log_amplitudes);

// Variance of each row's expected time, far from all data.
Eigen::VectorXd variances(const Eigen::MatrixXd& weights, const LogAmplitudes& log_amplitudes);

// Additional variance of one visit.
Eigen::VectorXd visit_variances(const Eigen::MatrixXd& weights,
                                const LogAmplitudes& log_amplitudes);

}  // namespace gpucast::fit::components

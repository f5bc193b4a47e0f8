// What the processes about forms have in common (scaling/process.h, components/covariance.h).
#pragma once

#include <Eigen/Core>

namespace gpucast::fit {

// Of log time: far below any clock, so that cells that repeat exactly leave a factor.
inline constexpr double least_variance = 1e-10;

// Correlations exp(-|row - column| / length) of a process of Ornstein and Uhlenbeck.
inline Eigen::MatrixXd correlation(const Eigen::VectorXd& rows, const Eigen::VectorXd& columns,
                                   double length) {
  const Eigen::ArrayXXd distance = (rows.rowwise().replicate(columns.size()) -
                                    columns.transpose().colwise().replicate(rows.size()))
                                       .array()
                                       .abs();
  return (-distance / length).exp();
}

}  // namespace gpucast::fit

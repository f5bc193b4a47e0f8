// Non-negative least squares, for start values.
#pragma once

#include <Eigen/Core>

namespace gpucast::fit {

// min |A x - b| over x >= 0 by the active-set method of Lawson & Hanson, Solving Least Squares
// Problems (1974), chapter 23. Columns that depend on others are left at 0.
Eigen::VectorXd nnls(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace gpucast::fit

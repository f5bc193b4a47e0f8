// The minimum of a function of a few variables without derivatives: the simplex method of Nelder
// and Mead (Comput. J. 7 (1965) 308).
#pragma once

#include <Eigen/Core>
#include <functional>

namespace gpucast::fit::scaling {

// Begins about `start` with a simplex of side 1 and ends when its values differ by less than
// `tolerance`, or after about `most_calls`.
Eigen::VectorXd minimize(const std::function<double(const Eigen::VectorXd&)>& function,
                         const Eigen::VectorXd& start, double tolerance, int most_calls);

}  // namespace gpucast::fit::scaling

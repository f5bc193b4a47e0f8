// Mixtures of Student's t with 8 degrees of freedom (student.h): what a forecast by several forms
// is, as variances are themselves estimated.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

namespace gpucast::fit {

// Of one quantity; entries are a member each, weights sum to 1.
struct StudentMixture {
  std::vector<double> weight, mean, scale;

  void clear();
  void add(double member_weight, double member_mean, double member_scale);
  double distribution(double x) const;
  double quantile(double probability) const;
};

// A member of a mixture of several quantities together.
struct Joint {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;  // of the normal distribution whose tails are t's
};

// `count` draws, a row each. `member(i)` is asked for members that are drawn at all.
Eigen::MatrixXd draws(const std::vector<double>& weights,
                      const std::function<Joint(std::size_t)>& member, Eigen::Index count,
                      std::uint64_t seed);

}  // namespace gpucast::fit

// Mixtures of Student's t with 8 degrees of freedom (student.h): what a forecast by several forms
// is, as variances are themselves estimated.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

namespace gpucast::fit {

// A mixture of Student's t distributions of one quantity; weights sum to 1. It has to have members.
class StudentMixture {
 public:
  struct At {
    double distribution, density;
  };

  void clear();
  void add(double weight, double mean, double scale);
  At at(double x) const;
  double quantile(double probability) const;

  // Between which all but 1e-4 lies.
  double least() const { return least_; }
  double greatest() const { return greatest_; }

 private:
  // Members are evaluated so many at a time; those that are none have no weight.
  using Lanes = Eigen::Array<double, 8, 1>;
  struct Members {
    Lanes weight = Lanes::Zero();
    Lanes mean = Lanes::Zero();
    Lanes inverse_scale = Lanes::Ones();
  };

  std::vector<Members> members_;
  Eigen::Index last_ = 0;  // filled lanes of the last of them
  double mean_ = 0;
  double least_ = 0;
  double greatest_ = 0;
};

// A member of a mixture of several quantities together.
struct Joint {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;  // of the normal distribution whose tails are t's
};

// `count` draws, a row each. `member(i)` is asked for members that are drawn at all, in their
// order.
Eigen::MatrixXd draws(const std::vector<double>& weights,
                      const std::function<Joint(std::size_t)>& member, Eigen::Index count,
                      std::uint64_t seed);

}  // namespace gpucast::fit

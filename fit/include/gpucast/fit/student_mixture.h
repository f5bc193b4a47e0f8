// Mixtures of Student's t with 8 degrees of freedom, which represent forecasts by several forms,
// since variances are themselves estimated.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace gpucast::fit {

// Student's t distribution with 8 degrees of freedom, whose distribution function is elementary
// (Abramowitz and Stegun 26.7.4, for even degrees). T is a number or an array of Eigen's.
namespace student {

inline constexpr double freedom = 8;

// sqrt(8 / (8 + t^2)): distribution and density follow from it without another division.
template <class T>
T root(const T& t) {
  using std::sqrt;
  return sqrt(freedom / (freedom + t * t));
}

template <class T>
T distribution(const T& t, const T& root) {
  const double half_sine = .5 / std::sqrt(freedom);  // of a sine t / sqrt(8 + t^2)
  const T cosine2 = root * root;
  return .5 + half_sine * t * root *
                  (1 + cosine2 * (1.0 / 2 + cosine2 * (3.0 / 8 + cosine2 * (15.0 / 48))));
}

// Gamma(9/2) / Gamma(4) / sqrt(8 pi) = (105 sqrt(pi) / 16) / 6 / sqrt(8 pi)
template <class T>
T density(const T& root) {
  const T power2 = root * root;
  const T power4 = power2 * power2;
  return 105.0 / 96 / std::sqrt(freedom) * power4 * power4 * root;
}

}  // namespace student

// A mixture of Student's t distributions of one quantity; weights sum to 1. It must have members.
class StudentMixture {
 public:
  struct At {
    double distribution, density;
  };

  void add(double weight, double mean, double scale);
  At at(double x) const;
  double quantile(double probability) const;

  // The bounds of all but 1e-4 of the probability.
  double least() const { return least_; }
  double greatest() const { return greatest_; }

 private:
  // Members are evaluated in groups of this size; unused lanes have no weight.
  using Lanes = Eigen::Array<double, 8, 1>;
  struct Members {
    Lanes weight = Lanes::Zero();
    Lanes mean = Lanes::Zero();
    Lanes inverse_scale = Lanes::Ones();
  };

  std::vector<Members> members_;
  Eigen::Index last_ = 0;  // filled lanes of the last group
  double mean_ = 0;
  double least_ = 0;
  double greatest_ = 0;
};

// A member of a mixture of several quantities together.
struct Joint {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;  // of the normal distribution whose tails are t's
};

// The weights of a mixture's members.
template <class Members>
std::vector<double> weights_of(const Members& members) {
  std::vector<double> weights;
  weights.reserve(members.size());
  for (const auto& member : members)
    weights.push_back(member.weight);
  return weights;
}

// `count` draws, a row each. `member(i)` is called only for members that are drawn, in their order.
Eigen::MatrixXd draws(const std::vector<double>& weights,
                      const std::function<Joint(std::size_t)>& member, Eigen::Index count,
                      std::uint64_t seed);

}  // namespace gpucast::fit

#include "gpucast/fit/weighted_jacobian.h"

#include <cmath>
#include <vector>

#include "gpucast/fit/evaluate.h"

namespace gpucast::fit {

namespace {

// Derivatives are exact, so dependent columns leave singular values near 1e-15.
constexpr double rank_tolerance = 1e-8;
constexpr double no_effect = 1e-6;

// Parameters whose change has no measurable effect on any step: one more second would not be
// visible in any step; a number of twice the size changes none. The parts of a norm are like this
// if another one is far larger. `slopes`: d time / d u.
std::vector<bool> without_effect(const model::StepModel& model, const Eigen::MatrixXd& slopes,
                                 const Estimate& estimate) {
  std::vector<bool> result;
  for (const model::Parameter& parameter : model.parameter_list()) {
    const auto at = static_cast<Eigen::Index>(result.size());
    Eigen::ArrayXd effect = slopes.col(at).array().abs();
    if (parameter.is_ratio()) effect *= (estimate.z[at] - estimate.log_fit.array()).exp();
    result.push_back(!parameter.reciprocal && effect.maxCoeff() < no_effect);
  }
  return result;
}

}  // namespace

WeightedJacobian::WeightedJacobian(const model::StepModel& model, const Observations& observations,
                                   const Estimate& estimate, Weighting weighting) {
  Eigen::MatrixXd jacobian = linear_jacobian(model, observations.cells(), estimate.z);
  const std::vector<bool> idle = without_effect(model, jacobian, estimate);
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    double total = 0;
    for (const std::size_t i : observations.samples(j)) {
      const double weight = weighting == Weighting::robust ? estimate.weight[i] : 1.0;
      total += weight / std::pow(sample_sigma(observations, estimate.sigma, j, i), 2);
    }
    const auto row = static_cast<Eigen::Index>(j);
    jacobian.row(row) *= std::sqrt(total) / std::exp(estimate.log_fit[row]);
  }
  norm_ = jacobian.colwise().norm().transpose();
  scale_ = norm_.unaryExpr([](double x) { return x > 0 ? x : 1.0; });
  jacobian = jacobian * scale_.cwiseInverse().asDiagonal();
  for (Eigen::Index i = 0; i < jacobian.cols(); ++i)
    if (idle[static_cast<std::size_t>(i)]) jacobian.col(i).setZero();
  // V is square, so that its last columns span the null space also with fewer cells than
  // parameters.
  if (jacobian.rows() < jacobian.cols()) {
    const Eigen::Index missing = jacobian.cols() - jacobian.rows();
    jacobian.conservativeResize(jacobian.cols(), Eigen::NoChange);
    jacobian.bottomRows(missing).setZero();
  }
  svd_.compute(jacobian, Eigen::ComputeThinU | Eigen::ComputeFullV);
  const Eigen::VectorXd& singular = svd_.singularValues();
  while (rank_ < singular.size() && singular[rank_] > rank_tolerance * singular[0])
    ++rank_;
}

}  // namespace gpucast::fit

#include "gpucast/fit/null_space.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/weighted_jacobian.h"

namespace gpucast::fit {

NullSpace::NullSpace(const model::StepModel& model, const Observations& observations,
                     const Estimate& estimate)
    : model_(model), cells_(observations.cells()), log_fit_(estimate.log_fit) {
  const WeightedJacobian jacobian(model, observations, estimate, Weighting::precision);
  const Eigen::MatrixXd null = jacobian.null_space();
  directions_.resize(null.rows(), 0);
  for (Eigen::Index c = 0; c < null.cols(); ++c) {
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(null.rows());
    double largest = 0;
    for (Eigen::Index i = 0; i < null.rows(); ++i) {
      const double part = jacobian.norm()[i] > 0 ? std::abs(null(i, c)) : 0.0;
      largest = std::max(largest, part);
      if (part > 1e-9) direction[i] = null(i, c) / jacobian.scale()[i];
    }
    // A unit vector on a parameter that no cell depends on is a direction too, but nothing bounds
    // it.
    if (largest > 1e-6) {
      directions_.conservativeResize(Eigen::NoChange, directions_.cols() + 1);
      directions_.rightCols(1) = direction;
    }
  }
}

bool NullSpace::equivalent(const Eigen::VectorXd& u) const {
  constexpr double tolerance = 1e-5;
  Eigen::VectorXd log_time(log_fit_.size());
  const Eigen::VectorXd z = u.array().log();
  evaluate(model_, cells_, z.data(), log_time.data(), nullptr);
  return (log_time - log_fit_).cwiseAbs().maxCoeff() < tolerance;
}

Eigen::VectorXd NullSpace::wander(const Eigen::VectorXd& z, int steps, Random& random) const {
  Eigen::VectorXd u = z.array().exp();
  for (int step = 0; step < steps; ++step) {
    // A random direction of the null space; sums of uniforms are close enough to isotropic.
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(u.size());
    for (Eigen::Index c = 0; c < directions_.cols(); ++c) {
      direction +=
          (random.uniform() + random.uniform() + random.uniform() - 1.5) * directions_.col(c);
    }
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    for (Eigen::Index i = 0; i < u.size(); ++i)
      if (direction[i] > 0)
        low = std::max(low, -u[i] / direction[i]);
      else if (direction[i] < 0)
        high = std::min(high, -u[i] / direction[i]);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    // Avoids the boundary: a parameter of exactly 0 has no logarithm.
    const double share = 1e-6 + (1 - 2e-6) * random.uniform();
    const Eigen::VectorXd target = u + (low + share * (high - low)) * direction;
    if ((target.array() > 0).all() && equivalent(target)) u = target;
  }
  return u.array().log();
}

Eigen::VectorXd NullSpace::centre(const Eigen::VectorXd& z) const {
  constexpr int points = 200;
  constexpr int steps_between = 3;
  Random random(1);
  Eigen::VectorXd at = z;
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(z.size());
  for (int point = 0; point < points; ++point) {
    at = wander(at, steps_between, random);
    sum += at.array().exp().matrix();
  }
  return (sum / points).array().log();
}

}  // namespace gpucast::fit

// Directions in which the parameters can change without changing any fitted time.
//
// If the data do not distinguish parameters, one set of values is as good as another, and a
// forecast that depends on them (an extrapolation) must not depend on where a solver happened to
// stop. Times are linear in the linear coordinates u and every coefficient is positive, so the
// equally good sets form a bounded polytope {u > 0} in the null space. The point estimate is its
// centre, and each bootstrap replicate takes a random point of its own: ignorance becomes width.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "gpucast/fit/estimate.h"
#include "gpucast/fit/random.h"

namespace gpucast::fit {

class NullSpace {
 public:
  // The null space at `z`. Parameters that no cell depends on are left out: nothing bounds them.
  NullSpace(const model::StepModel& model, const Observations& observations,
            const Estimate& estimate);

  Eigen::Index dimension() const { return directions_.cols(); }

  // A random point after `steps` of hit-and-run (Smith 1984) from z. Points that would change a
  // fitted time, which is possible with nonlinear terms (occupancy), are rejected.
  Eigen::VectorXd wander(const Eigen::VectorXd& z, int steps, Random& random) const;

  // Mean of many such points.
  Eigen::VectorXd centre(const Eigen::VectorXd& z) const;

 private:
  bool equivalent(const Eigen::VectorXd& u) const;

  const model::StepModel& model_;
  const std::vector<Cell>& cells_;
  Eigen::VectorXd log_fit_;
  Eigen::MatrixXd directions_;  // in linear coordinates, one per column
};

}  // namespace gpucast::fit

// Identifiability: the rank of the data, and the parameters and combinations that they determine.
//
// Contract, based on the weighted Jacobian of the cell times in linear coordinates u (a time, or
// 1/B):
//  - `rank`: singular values above 1e-8 of the largest, columns scaled to norm 1 first, so that
//    units do not matter. Derivatives are exact (ceres::Jet), so dependent columns come out at
//    about 1e-15.
//  - a parameter is identified if no null direction moves it. Only then it has a standard error.
//  - `combinations`: the reduced row-echelon form of the row space, in parameter order, written as
//    leading parameter + coefficient x others: each is identified although its members are not.
//    For the paper's model and steps alone these are t_cpu + 12/B_d2h and t_kernel + L_h2d + L_d2h.
//  - variances are those of estimable functions a'u with a in the row space; there, (J'J)^-1
//    restricted to the row space is *the* covariance, not a choice among pseudo-inverses. They
//    include the loss of efficiency of the robust weights (Huber 1981, section 7.6).
#pragma once

#include <Eigen/SVD>
#include <string>
#include <utility>

#include "gpucast/fit/estimate.h"
#include "gpucast/fit/random.h"

namespace gpucast::fit {

// The Jacobian of the log times in linear coordinates, weighted, scaled and decomposed: the basis
// of rank, covariance, null space and leverage.

// precision: each cell by the precision of its samples. robust: by their robust weights as well.
enum class Weighting { precision, robust };

class WeightedJacobian {
 public:
  WeightedJacobian(const model::StepModel& model, const Observations& observations,
                   const Estimate& estimate, Weighting weighting);

  // Norm of each column before scaling, and its divisor: the norm, or 1 for 0. Columns of
  // parameters without a measurable effect on any step count as 0 from here on.
  const Eigen::VectorXd& norm() const { return norm_; }
  const Eigen::VectorXd& scale() const { return scale_; }
  Eigen::Index rank() const { return rank_; }

  // In scaled coordinates: orthonormal bases of the row space and the null space, one a column.
  Eigen::MatrixXd row_space() const { return svd_.matrixV().leftCols(rank_); }
  Eigen::MatrixXd null_space() const {
    return svd_.matrixV().rightCols(svd_.matrixV().cols() - rank_);
  }
  Eigen::VectorXd singular_values() const { return svd_.singularValues().head(rank_); }

  // Diagonal of the hat matrix: the fit's degrees of freedom in each cell.
  Eigen::VectorXd leverage() const {
    return svd_.matrixU().leftCols(rank_).rowwise().squaredNorm();
  }

 private:
  Eigen::VectorXd norm_;
  Eigen::VectorXd scale_;
  Eigen::JacobiSVD<Eigen::MatrixXd> svd_;
  Eigen::Index rank_ = 0;
};

// Directions in which the parameters can change without changing any fitted time.
//
// If the data do not distinguish parameters, one set of values is as good as another, and a
// forecast that depends on them (an extrapolation) must not depend on where a solver happened to
// stop. Times are linear in the linear coordinates u and every coefficient is positive, so the
// equally good sets form a bounded polytope {u > 0} in the null space. The point estimate is its
// centre, and each bootstrap replicate takes a random point of its own: ignorance becomes width.

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

struct Combination {
  std::vector<std::pair<std::size_t, double>> terms;  // (parameter index, coefficient of u)

  // "t_cpu + 12/B_d2h"
  std::string expression(const std::vector<model::Parameter>& parameters) const;

  // The combination's value for the model's parameter values.
  double value(const std::vector<model::Parameter>& parameters, const double* values) const;
};

struct Identification {
  std::size_t rank = 0;
  std::vector<bool> identified;        // per parameter
  std::vector<bool> observed;          // false: no cell depends on it at all
  std::vector<double> largest_share;   // largest share of any cell's time that it accounts for
  std::vector<double> relative_error;  // standard error of the parameter / its value; NaN if none
  std::vector<Combination> combinations;  // of parameters that are not identified alone
  std::vector<double> combination_error;  // standard error of each, in its own unit
};

Identification identify(const model::StepModel& model, const Observations& observations,
                        const Estimate& estimate);

}  // namespace gpucast::fit

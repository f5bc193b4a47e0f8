// The Jacobian of the log times in linear coordinates, weighted, scaled and decomposed: the basis
// of rank, covariance, null space and leverage.
#pragma once

#include <Eigen/Core>
#include <Eigen/SVD>

#include "gpucast/fit/estimate.h"

namespace gpucast::fit {

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

}  // namespace gpucast::fit

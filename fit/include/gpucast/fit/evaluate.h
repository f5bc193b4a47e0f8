// Model times of cells and their derivatives, from the one implementation in model/.
#pragma once

#include <Eigen/Core>

#include "gpucast/fit/observations.h"
#include "gpucast/model/step_model.h"

namespace gpucast::fit {

// Fits work in z, the logarithms of the parameters' linear coordinates (term.h): times are
// then positive whatever z is, and steps are relative.
Eigen::VectorXd values_from_log(const model::StepModel& model, const Eigen::VectorXd& z);

// log_time[j] = log of the time of cell j in seconds; if `jacobian` is not null,
// jacobian[j + i * cells.size()] = d log_time[j] / d z[i].
void evaluate(const model::StepModel& model, const std::vector<Cell>& cells, const double* z,
              double* log_time, double* jacobian);

// d time[j] / d u[i], u the linear coordinates, at z: rows are cells.
Eigen::MatrixXd linear_jacobian(const model::StepModel& model, const std::vector<Cell>& cells,
                                const Eigen::VectorXd& z);

// How times are computed. Most models are linear in the linear coordinates u of their parameters
// (term.h),
//
//     T_j = T_j(0) + sum_i A_ji u_i
//
// with T_j(0) = 0 except for skeletons, whose kernel times are given. A matrix that is computed
// once from the model's formulas is then several times faster than the formulas. It rounds
// differently, though, which shows in parameters that the data hardly determine: an estimate that
// is reported uses the formulas. Models that are not linear always use them.
enum class Times { formulas, matrix };

// The times of some cells for one model at many points, as a fit evaluates them.
class LogTimes {
 public:
  // Model and cells are not copied, and have to outlive this object.
  LogTimes(const model::StepModel& model, const std::vector<Cell>& cells, Times times);

  // Does the same as evaluate().
  void operator()(const double* z, double* log_time, double* jacobian) const;

 private:
  struct Linear {
    Eigen::VectorXd given;        // T(0)
    Eigen::MatrixXd coefficient;  // A
  };

  const model::StepModel& model_;
  const std::vector<Cell>& cells_;
  std::optional<Linear> linear_;
};

}  // namespace gpucast::fit

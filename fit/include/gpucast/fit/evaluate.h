// Model times of cells and their derivatives, from the one implementation in model/.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "gpucast/fit/observations.h"
#include "gpucast/model/step_model.h"

namespace gpucast::fit {

// Fits work in z, the logarithms of the parameters' linear coordinates (parameter.h): times are
// then positive whatever z is, and steps are relative.
Eigen::VectorXd values_from_log(const model::StepModel& model, const Eigen::VectorXd& z);
Eigen::VectorXd log_from_values(const model::StepModel& model, const Eigen::VectorXd& values);

// log_time[j] = log of the time of cell j in seconds; if `jacobian` is not null,
// jacobian[j + i * cells.size()] = d log_time[j] / d z[i].
void evaluate(const model::StepModel& model, const std::vector<Cell>& cells, const double* z,
              double* log_time, double* jacobian);

// d time[j] / d u[i], u the linear coordinates, at z: rows are cells.
Eigen::MatrixXd linear_jacobian(const model::StepModel& model, const std::vector<Cell>& cells,
                                const Eigen::VectorXd& z);

}  // namespace gpucast::fit

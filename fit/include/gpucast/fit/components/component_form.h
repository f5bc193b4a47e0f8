// The mean of a step's time: a model of the catalogue with priors of its parameters.
#pragma once

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "gpucast/fit/log_normal.h"
#include "gpucast/fit/observations.h"
#include "gpucast/model/step_model.h"

namespace gpucast::fit::components {

// Parameters z are natural logarithms: of the linear coordinates of the model's parameters
// (evaluate.h), then of the time (s) by which the events around a kernel lengthen its measured
// time.
struct Form {
  model::StepModel model;
  Eigen::VectorXd median;  // of z
  Eigen::VectorXd sd;

  Eigen::Index parameter_count() const { return median.size(); }
};

// Rows of observations or forecasts, and their coordinates in the processes.
struct Sites {
  std::vector<Cell> cells;  // kinds step, cpu and kernel
  Eigen::VectorXd log_n;
  Eigen::VectorXd log_gpus;
  Eigen::VectorXd coordinate;  // logarithm of the coordinate of T_gpu

  Eigen::Index size() const { return log_n.size(); }
};

// Returns the coordinates of `cells` in the processes of a model.
Sites sites(const model::StepModel& model, std::vector<Cell> cells);

// The form's times in some rows.
struct RowTimes {
  Eigen::VectorXd log_seconds;
  Eigen::MatrixXd slopes;   // d log_seconds / d z
  Eigen::MatrixXd weights;  // shares of T_gpu, T_cpu and T_com in the row's time; a column per part
};

// The values of the model's parameters in their own units.
Eigen::VectorXd values_of(const Form& form, const Eigen::VectorXd& z);

RowTimes row_times(const Form& form, const Sites& at, const Eigen::VectorXd& z);

// Only the logarithms, in a fraction of the time.
Eigen::VectorXd log_row_times(const Form& form, const Sites& at, const Eigen::VectorXd& z);

// Priors of a form's parameters: those in `known` by the parameter's name, in its own unit, and the
// catalogue's for the others. If they have no median, the measured times set their scale.
Form with_priors(model::StepModel model, const std::vector<Cell>& steps,
                 const Eigen::VectorXd& log_seconds,
                 const std::vector<std::pair<std::string, LogNormal>>& known);

}  // namespace gpucast::fit::components

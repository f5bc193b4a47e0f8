// The mean of a step's time: a model of the catalogue with priors of its parameters.
#pragma once

#include <utility>

#include "gpucast/fit/components/amplitudes.h"
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

// The covariance of the deviations of two rows from the form:
//
//     ln T = ln f + s_gpu d_gpu + s_cpu d_cpu + s_com d_com + s_gpu k_gpu + s_com k_com
//
// with s the shares of the parts in the row's time, d Gaussian processes with covariance a^2
// exp(-distance / length) (Ornstein and Uhlenbeck), and k deviations of a single cell. Near the
// data the processes follow them; far from the data each has its full variance and the forecast
// returns to the form. A row that is the time of one part has a share of 1 of that part.

// Correlations between rows `a` and columns `b`; independent of the amplitudes.
class Correlations {
 public:
  Correlations(const Sites& a, const Sites& b);

  // The covariance's part for each amplitude up to com_of_cell, with an amplitude of 1.
  std::array<Eigen::MatrixXd, first_of_visit> pieces(const Eigen::MatrixXd& weights_a,
                                                     const Eigen::MatrixXd& weights_b) const;

 private:
  Eigen::MatrixXd gpu_, cpu_, com_, gpus_, same_;
};

// The sum of these parts with the amplitudes.
Eigen::MatrixXd sum(const std::array<Eigen::MatrixXd, first_of_visit>& pieces,
                    const LogAmplitudes& log_amplitudes);

// Variance of each row's expected time, far from all data.
Eigen::VectorXd variances(const Eigen::MatrixXd& weights, const LogAmplitudes& log_amplitudes);

// Additional variance of one visit.
Eigen::VectorXd visit_variances(const Eigen::MatrixXd& weights,
                                const LogAmplitudes& log_amplitudes);

}  // namespace gpucast::fit::components

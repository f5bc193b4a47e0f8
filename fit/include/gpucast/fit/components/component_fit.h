// One form and the processes about it, fitted to measured visits: the most probable parameters and
// amplitudes, and the evidence for the form.
#pragma once

#include <stdexcept>

#include "gpucast/fit/components/component_form.h"
#include "gpucast/fit/components/visit_noise.h"

namespace gpucast::fit::components {

// A form has no finite time, or no density, for the measurements: others may have one.
class NotFitted : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The result of a fit: with the form and the measurements, it is enough for forecasts.
struct Point {
  Eigen::VectorXd z;
  LogAmplitudes amplitudes;
  Disturbed disturbed;
};

// About a point everything is Gaussian: forecasts follow by conditioning.
class FormFit {
 public:
  // The state at the point of an earlier fit. The form has to outlive it. Throws NotFitted.
  FormFit(const Form& form, const Measured& measured, Point point);

  // The same with known correlations of the measured rows.
  FormFit(const Form& form, const Measured& measured, Point point, const Correlations& between);

  const Point& point() const { return point_; }

  // Log evidence of the measured times, with parameters integrated out (Laplace), and the prior of
  // the amplitudes.
  double log_evidence() const { return log_evidence_; }

  // Standard deviations of z.
  Eigen::VectorXd errors() const;

  // ln T of each cell minus its prediction from all other cells, including parameters.
  Eigen::VectorXd left_out() const;

  // Forecasts of rows: log seconds, and their covariance (or its diagonal alone).
  struct Predicted {
    Eigen::VectorXd mean;
    Eigen::VectorXd variance;
    Eigen::MatrixXd covariance;  // empty unless requested
    Eigen::VectorXd of_visit;    // additional variance of one visit
  };
  Predicted predict(const Sites& at, bool joint) const;

  // Forecasts of T_gpu (rows of kind kernel) and T_cpu themselves, without the overhead of events.
  Predicted predict_parts(const Sites& at) const;

 private:
  Predicted conditioned(const Sites& at, const RowTimes& times, bool joint) const;

  const Form* form_;
  Point point_;
  std::vector<std::array<Eigen::Index, 3>> of_cell_;  // rows (visit_noise.h)
  Sites sites_;
  Eigen::MatrixXd weights_;
  Eigen::MatrixXd factor_;     // of the rows' covariance
  Eigen::VectorXd residuals_;  // whitened, parameters at their posterior mean
  Eigen::MatrixXd jacobian_;   // whitened
  Eigen::MatrixXd precision_;  // of z, its Cholesky factor
  Eigen::VectorXd step_;       // from z to its posterior mean: 0 where z is the mode
  double log_evidence_ = 0;
};

// Fits a form. `start`: amplitudes to begin with. Throws NotFitted.
Point fit_form(const Form& form, const Measured& measured, const LogAmplitudes& start);

}  // namespace gpucast::fit::components

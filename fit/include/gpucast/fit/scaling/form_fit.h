// Coefficients of one form, given the process around it: the most plausible, and how plausible the
// form is.
#pragma once

#include <Eigen/Core>

#include "gpucast/fit/scaling/cells.h"
#include "gpucast/fit/scaling/priors.h"
#include "gpucast/fit/scaling/process.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

// The shapes of a form's terms, a row a cell.
Eigen::MatrixXd shapes(const model::scaling::Form& form, const Cells& cells);

struct FormTimes {
  Eigen::VectorXd log_seconds;
  Eigen::MatrixXd shares;  // of each term, a row a cell: also d ln f / d ln coefficient
};

FormTimes form_times(const model::scaling::Form& form, const Eigen::MatrixXd& shapes,
                     const Eigen::VectorXd& log_coefficients);

struct FormFit {
  Eigen::VectorXd log_coefficients;  // natural logarithms of seconds a unit of the shape
  Eigen::VectorXd residuals;         // whitened
  Eigen::MatrixXd jacobian;          // whitened shares
  Eigen::MatrixXd precision;         // of log_coefficients (Laplace)
  double log_evidence = 0;           // of the measured times, coefficients integrated over
};

// Coefficients are positive, so their logarithms are estimated: the maximum of the posterior by
// Levenberg's and Marquardt's iteration, the evidence by Laplace's approximation about it. `start`
// (or null: the prior's median) are log coefficients.
FormFit fit_form(const model::scaling::Form& form, const Eigen::MatrixXd& shapes,
                 const Cells& cells, const Process& process, const Priors& priors,
                 const Eigen::VectorXd* start, int most_iterations);

}  // namespace gpucast::fit::scaling

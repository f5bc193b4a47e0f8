// Coefficients of one form, given the process around it: the most plausible, and how plausible the
// form is.
#pragma once

#include <Eigen/Core>

#include "gpucast/fit/scaling/cells.h"
#include "gpucast/fit/scaling/priors.h"
#include "gpucast/fit/scaling/process.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

// The shapes of a form's terms in some cells, a row a cell. Where the power of the work is free,
// the terms that grow with it are further multiplied by (n / reference)^(power - growth's): `tilt`
// is the logarithm of the base, 0 for terms that do not grow; empty where the power is not free.
struct Shapes {
  Eigen::MatrixXd value;
  Eigen::MatrixXd tilt;
};

// `reference`: the largest n that was measured.
Shapes shapes(const model::scaling::Form& form, const Cells& cells, double reference);

struct FormTimes {
  Eigen::VectorXd log_seconds;
  Eigen::MatrixXd shares;  // of each term, a row a cell: also d ln f / d ln coefficient
  Eigen::MatrixXd slopes;  // d ln f / d parameter: shares, and where it is free of the power
};

FormTimes form_times(const model::scaling::Form& form, const Shapes& shapes,
                     const Eigen::VectorXd& parameters);

struct FormFit {
  // Natural logarithms of the terms' coefficients (seconds a unit of the shape), and where it is
  // free by how much the work's power differs from the growth's.
  Eigen::VectorXd parameters;
  Eigen::VectorXd residuals;  // whitened
  Eigen::MatrixXd jacobian;   // whitened slopes
  Eigen::MatrixXd precision;  // of the parameters (Laplace)
  double log_evidence = 0;    // of the measured times, coefficients integrated over
};

// Coefficients are positive, so their logarithms are estimated: the maximum of the posterior by
// Levenberg's and Marquardt's iteration, the evidence by Laplace's approximation about it. `start`
// (empty: the prior's median) are parameters.
FormFit fit_form(const model::scaling::Form& form, const Cells& cells, const Process& process,
                 const Eigen::VectorXd& start, int most_iterations = 50);

}  // namespace gpucast::fit::scaling

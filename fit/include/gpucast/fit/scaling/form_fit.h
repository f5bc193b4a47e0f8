// Coefficients of one form, given the process around it: the most probable ones, and the form's
// evidence.
#pragma once

#include <Eigen/Core>

#include "gpucast/fit/scaling/cells.h"
#include "gpucast/fit/scaling/priors.h"
#include "gpucast/fit/scaling/process.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

// The shapes of a form's terms in some cells, a row per cell. If the power of the work is free, the
// terms that grow with it are also multiplied by (n / reference)^(power - growth's): `tilt` is the
// logarithm of the base, 0 for terms that do not grow; empty if the power is fixed.
struct Shapes {
  Eigen::MatrixXd value;
  Eigen::MatrixXd tilt;
};

// `reference`: the largest measured n.
Shapes shapes(const model::scaling::Form& form, const Cells& cells, double reference);

struct FormTimes {
  Eigen::VectorXd log_seconds;
  Eigen::MatrixXd shares;  // of each term, a row per cell: also d ln f / d ln coefficient
  Eigen::MatrixXd slopes;  // d ln f / d parameter: shares, and the power if it is free
};

FormTimes form_times(const model::scaling::Form& form, const Shapes& shapes,
                     const Eigen::VectorXd& parameters);

struct FormFit {
  // Natural logarithms of the terms' coefficients (seconds per unit of the shape) and, if it is
  // free, the difference of the work's power from the growth's.
  Eigen::VectorXd parameters;
  Eigen::VectorXd residuals;  // whitened
  Eigen::MatrixXd jacobian;   // whitened slopes
  Eigen::MatrixXd precision;  // of the parameters (Laplace)
  double log_evidence = 0;    // of the measured times, with coefficients integrated out
};

// Coefficients are positive, so their logarithms are estimated: the maximum of the posterior by
// Levenberg-Marquardt iteration, the evidence by Laplace's approximation about it. `start` are
// parameters (empty: the prior's median).
FormFit fit_form(const model::scaling::Form& form, const Cells& cells, const Process& process,
                 const Eigen::VectorXd& start, int most_iterations = 50);

}  // namespace gpucast::fit::scaling

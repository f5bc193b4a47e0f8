// The deviation of a program's steps from any form: a Gaussian process for ln T around the form,
//
//     cov = a_n^2 exp(-|d ln n| / l_n) + a_m^2 exp(-|d ln(n/N)| / l_m) + a_N^2 exp(-|d ln N| / l_N)
//
// (Ornstein and Uhlenbeck): systems of other sizes differ, domains of other sizes occupy a GPU
// differently, and other GPU counts divide the work differently. Between measured cells the process
// follows them; far from all of them it has its full variance, and the forecast returns to the
// form. In addition every cell has relative noise. A cell that neither form nor process explains
// (another algorithm, a disturbed run) has a deviation of its own, which contains no information
// about others.
#pragma once

#include <Eigen/Cholesky>

#include "gpucast/fit/scaling/cells.h"
#include "gpucast/fit/scaling/priors.h"

namespace gpucast::fit::scaling {

// Noise and amplitudes in units of their priors' standard deviations: 0 is the median.
using Deviates = std::array<double, 4>;  // noise, a_n, a_m, a_N

struct Amplitudes {
  double noise;
  std::array<double, 3> process;

  double variance() const {  // of the process, far from all cells
    double sum = 0;
    for (const double a : process)
      sum += a * a;
    return sum;
  }
};

Amplitudes amplitudes(const Deviates& deviates);

// Correlations of the three processes between two sets of cells, independent of amplitudes.
class Correlations {
 public:
  Correlations(const Cells& rows, const Cells& columns);

  Eigen::MatrixXd covariance(const Amplitudes& amplitudes) const;

 private:
  std::array<Eigen::MatrixXd, 3> each_;
};

// The covariance of measured cells, with noise, as its Cholesky factor L.
class Process {
 public:
  Process(const Correlations& among, const Amplitudes& amplitudes, const Cells& cells);

  // L^-1 times columns: the result has unit covariance.
  template <class Columns>
  Columns::PlainObject whiten(const Columns& columns) const {
    return factor_.template triangularView<Eigen::Lower>().solve(columns);
  }
  double log_determinant() const { return log_determinant_; }  // of L

 private:
  Eigen::MatrixXd factor_;
  double log_determinant_;
};

// Coefficients of one form, given the process around it: the most probable ones, and the form's
// evidence.

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

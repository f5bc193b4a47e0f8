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
#include <Eigen/Core>
#include <array>
#include <vector>

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

}  // namespace gpucast::fit::scaling

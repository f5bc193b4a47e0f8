// Measurements of a program whose parts of steps were timed, too: a row per visit.
#pragma once

#include "gpucast/fit/components/amplitudes.h"
#include "gpucast/fit/observations.h"

namespace gpucast::fit::components {

// One measurement of a cell, whose samples were taken together. Times are natural logarithms of
// seconds.
struct Visit {
  Eigen::Index cell = 0;
  double step = 0;
  double step_variance = 0;  // of the samples' median
  bool has_cpu = false;      // whether the host's part was timed
  double cpu = 0;
  double cpu_variance = 0;
};

// Cells with their visits.
struct Measured {
  Eigen::VectorXd n;
  Eigen::VectorXd gpus;
  Eigen::VectorXd kernel;           // log of the kernel's own time; NaN: not timed
  Eigen::VectorXd kernel_variance;  // of the kernel's log time
  std::vector<Visit> visits;

  Eigen::Index size() const { return n.size(); }
};

// The noise of visits, and their summary: the visits of a cell enter a fit only through their
// weighted mean, so that a fit's time depends on the number of cells and not of visits.
//
// A visit's times scatter by parts, too: a longer host part shows in the step and in the phase.
// Given the amplitudes, the mean of a cell's visits, each weighted by the inverse of its
// covariance, contains all their information on the cell; their scatter about it contains the rest.

// Variances that robust weighting adds to visits that deviate from their neighbours.
struct Disturbed {
  Eigen::VectorXd step, cpu;  // of each visit
  Eigen::VectorXd kernel;     // of each cell

  explicit Disturbed(const Measured& measured)
      : step(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(measured.visits.size()))),
        cpu(step),
        kernel(Eigen::VectorXd::Zero(measured.size())) {}
};

// The rows of a fit: for each cell its steps, the host's part if it was timed, and the kernel if it
// was.
struct Rows {
  std::vector<Cell> cells;                           // in the order of rows
  std::vector<std::array<Eigen::Index, 3>> of_cell;  // rows of step, cpu, kernel; -1: none

  explicit Rows(const Measured& measured);
  Eigen::Index size() const { return static_cast<Eigen::Index>(cells.size()); }
};

// All visits at given amplitudes and weights (a row for each of `Rows`).
class VisitNoise {
 public:
  VisitNoise(const Measured& measured, const Rows& rows, const Eigen::MatrixXd& weights,
             const LogAmplitudes& log_amplitudes, const Disturbed& disturbed);

  const Eigen::VectorXd& mean() const { return mean_; }  // of each row
  void add_to(Eigen::MatrixXd& covariance) const;        // covariance of the means
  double log_density() const { return log_density_; }    // of the visits about the means

  // The derivative of the negative log density with respect to each log amplitude of visits, and
  // the average information about them (Gilmour, Thompson and Cullis, Biometrics 51 (1995) 1440).
  // `inverse`: of the rows' whole covariance; `alpha`: its product with the rows' residuals.
  struct Slopes {
    Eigen::Vector4d gradient;
    Eigen::Matrix4d information;
    Eigen::Matrix<double, Eigen::Dynamic, 4> along;  // rows of information with other amplitudes
  };
  Slopes slopes(const Eigen::MatrixXd& inverse, const Eigen::VectorXd& alpha) const;

  // Covariance of a cell's means of step and cpu.
  const Eigen::Matrix2d& covariance(Eigen::Index cell) const {
    return of_cells_[static_cast<std::size_t>(cell)];
  }
  // Variance of a visit's step (part 0) or host time (part 1).
  double variance(std::size_t visit, Eigen::Index part) const { return of_visits_[visit][part]; }

 private:
  const Measured& measured_;
  const Rows& rows_;
  std::array<Eigen::VectorXd, 3> variance_;  // of the step by part, gpu, cpu, com; of each cell
  double cpu_variance_ = 0;
  double phase_variance_ = 0;
  Eigen::VectorXd mean_;
  Eigen::VectorXd kernel_;
  std::vector<Eigen::Vector2d> of_visits_;   // variances
  std::vector<Eigen::Matrix2d> precisions_;  // of visits
  std::vector<Eigen::Matrix2d> of_cells_;
  double log_density_ = 0;
};

}  // namespace gpucast::fit::components

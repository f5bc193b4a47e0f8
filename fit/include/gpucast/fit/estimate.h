// Parameters of one model (its structural integer given) from observations: a robust joint fit.
//
// The estimate minimizes sum_i rho((log T_j(i) - y_i) / sigma_i) over all samples i of all cells j,
// y_i = log of the measured time, rho Tukey's biweight, sigma_i^2 = sigma_group^2 + rounding
// variance. All samples of a cell share T_j, so the M-estimate is found by reweighting: given
// weights, a cell enters through the weighted mean of its samples and its total weight, and the
// time of an iteration does not depend on the number of repetitions. The weighted problems are
// solved by Ceres' TinySolver (Levenberg-Marquardt, derivatives by ceres::Jet), which needs no
// set-up: a fit takes well under a millisecond, and a bootstrap is thousands of fits. The priors of
// pure numbers (NumberPrior) are added to the sum, one residual each.
#pragma once

#include "gpucast/fit/evaluate.h"

namespace gpucast::fit {

using Scales = std::array<double, group_count>;  // sigma of each group; 0 if it has no sample

// The prior of a pure number (the p of occupancy, the size of a cache): its logarithm is normal.
// Times are not linear in it, so that often a valley of values, with other parameters to match,
// describes the measured cells equally well; the prior decides where in it the estimate lies.
// Parameters with a unit have no prior: the data alone decide.
struct NumberPrior {
  Eigen::Index at;  // of the parameter
  double centre;
  double sd;

  double off(const double* z) const { return (z[at] - centre) / sd; }
};

// The priors of all pure numbers of a model. `plausible`: a centre for each parameter, used for
// pure numbers only; empty: the catalogue's medians.
std::vector<NumberPrior> number_priors(const model::StepModel& model,
                                       const Eigen::VectorXd& plausible = {});

// Negative log density of the priors, without constants.
double cost(const std::vector<NumberPrior>& priors, const Eigen::VectorXd& z);

struct Estimate {
  Eigen::VectorXd z;           // log linear coordinates of the parameters (evaluate.h)
  Eigen::VectorXd log_fit;     // log time of each cell
  std::vector<double> weight;  // Tukey weight of each sample, 0 ... 1
  Scales sigma{};              // noise scale of each group, relative (of log time)
  double cost = 0;  // sum of rho, in units where a small residual costs z^2 / 2, and of the priors
  bool converged = false;
};

// Start values: non-negative least squares on cell medians, relative residuals, with parameters
// that come out 0 set to a thousandth of the largest value the data admit.
Eigen::VectorXd start_values(const model::StepModel& model, const Observations& observations);

// The start values as an estimate: with the scales that they leave, all weights 1.
Estimate start_estimate(const model::StepModel& model, const Observations& observations);

// The same estimate with other scales: new weights and cost, the same parameters.
Estimate with_scales(Estimate estimate, const Observations& observations, const Scales& scales);

// The loss of the final stage. Huber's gives every cell some weight; Tukey's gives none to distant
// ones, which is right for disturbed samples and wrong while the form of a curve is still being
// determined.
enum class Loss { huber, tukey };

// Whether pure numbers (the p of occupancy) are fitted with the rest, or keep their start values.
enum class Numbers { fitted, held };

// Full fit from `start`: a Huber stage that also finds the scales, then Tukey at fixed scales. If
// `scales` is given, the Huber stage is skipped and those scales are used. `tolerance`: largest
// change of a cell's log time in the last reweighting. `plausible`: as for `number_priors`.
Estimate estimate(const model::StepModel& model, const Observations& observations,
                  const Eigen::VectorXd& start, const std::optional<Scales>& scales = std::nullopt,
                  double tolerance = 1e-10, Loss loss = Loss::tukey, Times times = Times::formulas,
                  Numbers numbers = Numbers::fitted, const Eigen::VectorXd& plausible = {});

// Standard deviation of sample i of cell j, from group scale and rounding.
double sample_sigma(const Observations& observations, const Scales& scales, std::size_t cell,
                    std::size_t sample);

// Non-negative least squares, for start values.

// min |A x - b| over x >= 0 by the active-set method of Lawson & Hanson, Solving Least Squares
// Problems (1974), chapter 23. Columns that depend on others are left at 0.
Eigen::VectorXd nnls(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace gpucast::fit

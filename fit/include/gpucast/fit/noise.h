// The noise of step times, separated into repetitions and cells (lack of fit).
//
// Repetitions of a cell scatter by the pure error sigma_pe, whatever the model. Disturbed samples
// are weighted down by their distance from their own cell's centre, and never from a fit, since the
// fit is compared with the pure error. If cell means scatter around the fit by more than sigma_pe /
// sqrt(repetitions), the model's form is wrong: the pure-error lack-of-fit test (Draper & Smith,
// Applied Regression Analysis, 3rd ed., section 2.1)
//
//     F = [SS_lof / (J - p)] / [SS_pe / (N - J)]
//
// with J cells, N samples, p parameters, here on log times.
//
// That test covers all deviations at once, and so hardly notices an error that grows slowly with N.
// A second one covers the errors of such models in practice, along d named directions that the
// model does not have:
//
//     imbalance         T_gpu (N - 1)    GPUs that do not get equal work, or wait for each other
//     synchronization   N^2              every GPU with every other
//     host              n N              host work for every GPU's copy of the particles
//
// Each is a change of the cell times; the part that the parameters can mimic is projected out, and
// F = [SS along them / d] / [SS_pe / (N - J)] (an added-variable test, same book, section 6.1).
#pragma once

#include <string>

#include "gpucast/fit/estimate.h"

namespace gpucast::fit {

// Robust mean of a cell's log times.
struct CellCenter {
  std::size_t cell = 0;
  double value = 0;
  double weight = 0;  // effective number of samples, greater than 1
};

struct PureError {
  double sigma = 0;                 // relative; NaN without repetitions
  double freedom = 0;               // samples minus cells, by weight
  std::vector<CellCenter> centers;  // of the group's cells with repetitions

  bool known() const { return freedom > 0; }
};

// Pure error of the cells of one group (group(cell)).
PureError pure_error(const Observations& observations, std::size_t of_group);

// An F statistic with its degrees of freedom; NaN if it is undefined.
struct FTest {
  double f = 0;
  double freedom = 0;       // of the numerator
  double pure_freedom = 0;  // of the denominator
};

struct Noise {
  double total = 0;       // relative noise of one sample around the fit: the group's scale
  double pure_error = 0;  // sigma_pe; NaN without repetitions
  // Tau: spread of true cell means around the fit, 0 if chance explains it.
  double between_cells = 0;
  FTest lack_of_fit;
};

// Noise of the cells of one group (group(cell)). `parameters_used`: the fit's degrees of freedom in
// them (the trace of their leverage).
Noise noise(const Observations& observations, const Estimate& estimate, std::size_t of_group,
            double parameters_used);

// One named direction, and the F statistic of the fit along it alone.
struct Misfit {
  std::string name;
  FTest test;
};

// Misfit of the step cells along each named direction that the data can show and, as the last
// entry, named "any", along all of them together. Empty without steps or repetitions.
std::vector<Misfit> misfits(const model::StepModel& model, const Observations& observations,
                            const Estimate& estimate);

// Trace of the leverage (hat) matrix over the cells of each group; their sum is the rank.
std::array<double, group_count> leverage(const model::StepModel& model,
                                         const Observations& observations,
                                         const Estimate& estimate);

}  // namespace gpucast::fit

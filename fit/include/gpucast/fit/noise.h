// Noise of the step times taken apart: between repetitions, and between cells (lack of fit).
//
// Repetitions of a cell scatter by pure error sigma_pe, whatever the model. If cell means scatter
// around the fit by more than sigma_pe / sqrt(repetitions), the model's form is wrong: the
// pure-error lack-of-fit test (Draper & Smith, Applied Regression Analysis, 3rd ed., section 2.1)
//
//     F = [SS_lof / (J - p)] / [SS_pe / (N - J)]
//
// with J cells, N samples, p parameters, here on log times with disturbed samples weighted down
// within their own cell (never by their distance from the fit, which is what is being tested).
#pragma once

#include <cstddef>
#include <vector>

#include "gpucast/fit/estimate.h"

namespace gpucast::fit {

struct Noise {
  double total = 0;          // relative noise of one sample around the fit: the group's scale
  double pure_error = 0;     // sigma_pe; NaN without repetitions
  double between_cells = 0;  // tau: spread of true cell means around the fit, 0 if within chance
  double f = 0;              // lack-of-fit F statistic; NaN where it cannot be had
  double lack_freedom = 0;   // J - p of the cells tested
  double pure_freedom = 0;   // N - J, disturbed samples counted by weight
};

// `tested`: the group whose cells are tested (group(cell)). `parameters_used`: degrees of freedom
// that the fit spent on them (the trace of their leverage).
Noise noise(const Observations& observations, const Estimate& estimate, std::size_t tested,
            double parameters_used);

// Trace of the leverage (hat) matrix over the cells of a group; all groups sum to the rank.
double leverage(const model::StepModel& model, const Observations& observations,
                const Estimate& estimate, std::size_t of_group);

}  // namespace gpucast::fit

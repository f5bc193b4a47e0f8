// Breakpoints of a transfer curve, found from timings.
#pragma once

#include "gpucast/fit/observations.h"

namespace gpucast::fit {

// Adds breakpoints one at a time, each at the measured size where it helps most, and moves the
// others once it is in, as long as the Bayesian information criterion over cells
//
//     sum_j [2 log b_j + 2 |r_j| / b_j] + (number of parameters + breakpoints) log J
//
// falls by at least 6, and by 10 more if the curve also jumps (model/transfer_curve.h: the
// breakpoint is returned twice). The criterion assumes Laplace noise, so that a single wild cell
// changes it little and the few cells at a bend change it enough: r_j is the residual of cell j's
// median log time, b_j the mean magnitude of noise with the scale common to all J cells and the
// cell's rounding. Cells are counted and not samples, since all repetitions of a size share its
// quirks. A piece between breakpoints holds at least two measured sizes. `observations`: transfers
// of one route only. Finds at most `largest` breakpoints, a jump counting as one.
std::vector<double> find_breakpoints(const Observations& observations, std::size_t largest);

}  // namespace gpucast::fit

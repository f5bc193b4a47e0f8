// Breakpoints of a transfer curve, found from timings.
#pragma once

#include <cstddef>
#include <vector>

#include "gpucast/fit/observations.h"

namespace gpucast::fit {

// Adds breakpoints one at a time, each at the measured size where it helps most, and moves the
// others once it is in, as long as the Bayesian information criterion over cells
//
//     sum_j [2 log b_j + 2 |r_j| / b_j] + (number of parameters + breakpoints) log J
//
// falls by at least 6, and by 10 more where the curve also jumps (model/transfer_curve.h: the
// breakpoint is returned twice). It is that of Laplace noise, which a wild cell moves a little and
// the few cells at a bend move enough: r_j is the residual of cell j's median log time, b_j the
// mean magnitude of noise with the scale common to all J cells and the cell's rounding. Cells, not
// samples, are what counts: all repetitions of a size share its quirks. A piece between breakpoints
// holds at least two measured sizes.
// `observations`: transfers of one route only. At most `largest` breakpoints,
// a jump being one.
std::vector<double> find_breakpoints(const Observations& observations, std::size_t largest);

}  // namespace gpucast::fit

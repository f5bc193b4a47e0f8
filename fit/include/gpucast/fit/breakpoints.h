// Breakpoints of a transfer curve, found from timings.
#pragma once

#include <cstddef>
#include <vector>

#include "gpucast/fit/observations.h"

namespace gpucast::fit {

// Adds breakpoints one at a time, each at the measured size where it helps most, and moves the
// others once it is in, as long as the Bayesian information criterion over cells
//
//     J log(mean square of cell residuals, robust) + (number of parameters + breakpoints) log J
//
// falls. Cells, not samples, are what counts: all repetitions of a size share its quirks. A piece
// between breakpoints holds at least two measured sizes.
// `observations`: transfers of one route only. At most `largest` breakpoints.
std::vector<double> find_breakpoints(const Observations& observations, std::size_t largest);

}  // namespace gpucast::fit

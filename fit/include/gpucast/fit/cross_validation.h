// Errors of candidate models on held-out cells; the structure is selected again each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpucast/fit/observations.h"
#include "gpucast/model/step_model.h"

namespace gpucast::fit {

struct Candidate {
  model::StepModel model;
  std::vector<int> integers;
};

// errors[c][s]: |log(forecast / median measured)| of candidate c at step cell s (in the order of
// observations.cells(), step cells only) when the cell's fold was left out. Folds hold whole cells,
// chosen at random by `seed`; observations other than steps are always kept. Infinity if a fold
// leaves too few data.
std::vector<std::vector<double>> cross_validate(const std::vector<Candidate>& candidates,
                                                const Observations& observations, std::size_t folds,
                                                std::uint64_t seed, unsigned threads);

}  // namespace gpucast::fit

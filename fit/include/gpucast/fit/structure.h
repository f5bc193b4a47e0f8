// The structural integer (k of the wave term): all values are tried, and the profile is kept.
#pragma once

#include <cstdint>

#include "gpucast/fit/estimate.h"

namespace gpucast::fit {

// Integers whose GPU times agree up to one common factor over all step cells are the same model for
// the data: with few particles, every k beyond n / (c N) runs one wave.
struct IntegerClass {
  std::vector<int> members;  // ascending
  Estimate estimate;         // with the scales of the best class

  // The integer that represents the class where one is needed: the geometric middle.
  int representative() const;
};

struct Profile {
  std::vector<IntegerClass> classes;  // ascending by first member
  std::size_t best = 0;               // index of the class of least cost

  // Classes within `margin` of the best cost.
  std::vector<std::size_t> plausible(double margin) const;
};

// Twice the cost difference is a likelihood-ratio statistic; beyond 2 x 8 = 16 an integer is
// practically excluded (p < 1e-4 for one degree of freedom).
inline constexpr double plausible_margin = 8;

// The integers that the GPU term of `model` may have; `largest_k`: threads a core can hold.
std::vector<int> default_integers(const model::StepModel& model, int largest_k);

// Fits every class of `integers`. Costs are comparable: all use the scales of the class that
// explains the samples with the least noise. Classes that are far from explaining them are not
// fitted completely: their cost is that of their start values, an upper bound. `tolerance`,
// `times`: as in `estimate`.
Profile profile(const model::StepModel& model, const Observations& observations,
                const std::vector<int>& integers, double tolerance = 1e-10,
                Times times = Times::formulas);

// Errors of candidate models on held-out cells; the structure is selected again each time.

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

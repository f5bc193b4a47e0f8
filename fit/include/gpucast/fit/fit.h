// A complete fit: structure, parameters, identification, residual noise, and their uncertainty from
// refits of resampled data.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "gpucast/fit/identify.h"
#include "gpucast/fit/noise.h"
#include "gpucast/fit/structure.h"

namespace gpucast::fit {

// Residual bootstrap on log times (Davison & Hinkley 1997, section 6.3), group by group: a
// replicate is the fitted time of each sample times noise drawn from the data's own residuals,
// including disturbed samples. With repetitions, noise has two levels, as in the data: a draw for
// each cell, scaled to the between-cell spread (0 if the form fits), and a draw for each sample
// from the deviations within cells, so that a wrong form widens the intervals instead of hiding.
// Each replicate is fitted with every plausible structural integer and keeps the best, so that the
// uncertainty of k is included; among integers that the data cannot distinguish it takes one at
// random.
struct Replicates {
  Eigen::MatrixXd values;     // parameter values, one row a replicate
  std::vector<int> integers;  // structural integer of each
};

// The same seed gives the same replicates for any number of threads.
Replicates bootstrap(const model::StepModel& model, const Observations& observations,
                     const Profile& profile, const std::vector<Noise>& noise_of_group,
                     std::size_t count, std::uint64_t seed, unsigned threads);

struct Fit {
  model::StepModel model;  // with the best structural integer
  Observations observations;
  Profile profile;
  Identification identification;
  std::vector<Noise> noise;     // by group
  std::vector<Misfit> misfits;  // of the steps

  const Estimate& estimate() const { return profile.classes[profile.best].estimate; }
  Eigen::VectorXd values() const;
  Replicates bootstrap(std::size_t count, std::uint64_t seed, unsigned threads) const;
};

// Throws std::invalid_argument if there is nothing to fit.
Fit fit(const model::StepModel& model, Observations observations, const std::vector<int>& integers);

}  // namespace gpucast::fit

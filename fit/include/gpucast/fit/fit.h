// The whole of a fit: structure, parameters, what is identified, and the noise that is left.
#pragma once

#include <vector>

#include "gpucast/fit/bootstrap.h"
#include "gpucast/fit/identify.h"
#include "gpucast/fit/noise.h"
#include "gpucast/fit/structure.h"

namespace gpucast::fit {

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

// A complete fit: structure, parameters, identification, residual noise, and their uncertainty from
// refits of resampled data.
#pragma once

#include <span>

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

// Step times of many (n, N) with their uncertainty, from a fitted model and its replicates.

struct Forecast {
  std::vector<double> gpu, cpu, com;  // seconds of each term
  std::vector<double> spread;         // standard deviation of log(T) over replicates, about T
};

// `n` and `gpus` are pairs: one forecast each. Without replicates the spread is 0.
Forecast forecast(const model::StepModel& model, const Eigen::VectorXd& values,
                  const Replicates& replicates, std::span<const double> n,
                  std::span<const double> gpus, unsigned threads);

// For each n: the share of replicates in which each GPU count is the fastest.
// Rows: n; columns: `gpus`. Ties go to the smaller count.
Eigen::MatrixXd best_probability(const model::StepModel& model, const Replicates& replicates,
                                 std::span<const double> n, std::span<const double> gpus,
                                 unsigned threads);

}  // namespace gpucast::fit

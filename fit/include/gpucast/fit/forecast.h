// Step times of many (n, N) with their uncertainty, from a fitted model and its replicates.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "gpucast/fit/fit.h"
#include "gpucast/model/step_model.h"

namespace gpucast::fit {

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

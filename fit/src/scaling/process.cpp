#include "gpucast/fit/scaling/process.h"

#include <cmath>

#include "gpucast/fit/correlation.h"

namespace gpucast::fit::scaling {

Amplitudes amplitudes(const Deviates& deviates) {
  const auto value = [](const LogNormal& prior, double deviate) {
    return std::exp(prior.log_median + deviate * prior.log_sd);
  };
  Amplitudes result{value(priors.noise, deviates[0]), {}};
  for (std::size_t k = 0; k < 3; ++k)
    result.process[k] = value(priors.amplitude[k], deviates[k + 1]);
  return result;
}

Correlations::Correlations(const Cells& rows, const Cells& columns) {
  const Eigen::VectorXd n[] = {rows.n.array().log(), columns.n.array().log()};
  const Eigen::VectorXd gpus[] = {rows.gpus.array().log(), columns.gpus.array().log()};
  each_[0] = correlation(n[0], n[1], priors.length[0]);
  each_[1] = correlation(n[0] - gpus[0], n[1] - gpus[1], priors.length[1]);
  each_[2] = correlation(gpus[0], gpus[1], priors.length[2]);
}

Eigen::MatrixXd Correlations::covariance(const Amplitudes& amplitudes) const {
  const auto& a = amplitudes.process;
  return a[0] * a[0] * each_[0] + a[1] * a[1] * each_[1] + a[2] * a[2] * each_[2];
}

Process::Process(const Correlations& among, const Amplitudes& amplitudes, const Cells& cells) {
  Eigen::MatrixXd covariance = among.covariance(amplitudes);
  covariance.diagonal().array() += amplitudes.noise * amplitudes.noise + least_variance;
  covariance.diagonal() += cells.variance + cells.local;
  factor_ = covariance.llt().matrixL();
  log_determinant_ = factor_.diagonal().array().log().sum();
}

}  // namespace gpucast::fit::scaling

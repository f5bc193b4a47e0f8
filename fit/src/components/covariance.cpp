#include "gpucast/fit/components/covariance.h"

#include <cmath>

#include "gpucast/fit/correlation.h"

namespace gpucast::fit::components {

Correlations::Correlations(const Sites& a, const Sites& b)
    : gpu_(correlation(a.coordinate, b.coordinate, gpu_length)),
      cpu_(correlation(a.log_n, b.log_n, cpu_length)),
      com_(correlation(a.log_n, b.log_n, com_length)),
      gpus_(correlation(a.log_gpus, b.log_gpus, gpus_length)),
      same_(a.size(), b.size()) {
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    for (Eigen::Index j = 0; j < b.size(); ++j) {
      const bool same = a.log_n[i] == b.log_n[j] && a.log_gpus[i] == b.log_gpus[j];
      same_(i, j) = same ? 1 : 0;
    }
  }
}

std::array<Eigen::MatrixXd, first_of_visit> Correlations::pieces(
    const Eigen::MatrixXd& weights_a, const Eigen::MatrixXd& weights_b) const {
  const auto of_part = [&](Eigen::Index part) -> Eigen::MatrixXd {
    return weights_a.col(part) * weights_b.col(part).transpose();
  };
  const Eigen::MatrixXd gpu = of_part(0);
  const Eigen::MatrixXd com = of_part(2);
  const Eigen::MatrixXd over_n = com.cwiseProduct(com_);
  return {gpu.cwiseProduct(gpu_),     of_part(1).cwiseProduct(cpu_), over_n,
          over_n.cwiseProduct(gpus_), gpu.cwiseProduct(same_),       com.cwiseProduct(same_)};
}

Eigen::MatrixXd sum(const std::array<Eigen::MatrixXd, first_of_visit>& pieces,
                    const LogAmplitudes& log_amplitudes) {
  Eigen::MatrixXd result = std::exp(2 * log_amplitudes[0]) * pieces[0];
  for (std::size_t i = 1; i < pieces.size(); ++i)
    result += std::exp(2 * log_amplitudes[static_cast<Eigen::Index>(i)]) * pieces[i];
  return result;
}

Eigen::VectorXd variances(const Eigen::MatrixXd& weights, const LogAmplitudes& log_amplitudes) {
  const LogAmplitudes square = (2 * log_amplitudes.array()).exp();
  return weights.array().square().matrix() *
         Eigen::Vector3d(square[gpu_process] + square[gpu_of_cell], square[cpu_process],
                         square[com_process] + square[com_by_gpus] + square[com_of_cell]);
}

Eigen::VectorXd visit_variances(const Eigen::MatrixXd& weights,
                                const LogAmplitudes& log_amplitudes) {
  const LogAmplitudes square = (2 * log_amplitudes.array()).exp();
  return weights.array().square().matrix() *
         Eigen::Vector3d(square[gpu_of_visit], square[cpu_of_visit], square[com_of_visit]);
}

}  // namespace gpucast::fit::components

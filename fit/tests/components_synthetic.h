// Visits of steps with known truth, for the tests of components/.
#pragma once

#include <limits>

#include "gpucast/fit/components/visit_noise.h"
#include "synthetic.h"

namespace gpucast::fit::components {

// A model with values of its parameters, and the scatter of its visits: standard deviations of the
// logarithms of T_gpu, T_cpu and T_com of a visit.
struct True {
  model::StepModel model;
  std::vector<double> values;
  std::array<double, 3> scatter{.004, .12, .08};
};

struct Plan {
  std::vector<double> n, gpus;  // a cell for each pair
  int visits = 4;
  bool cpu = true;      // whether the host's part is timed
  bool kernel = false;  // whether the kernel is
};

inline Measured measure(const True& truth, const Plan& plan, std::uint64_t seed) {
  synthetic::Noisy noisy(seed, 0);
  const auto count = static_cast<Eigen::Index>(plan.n.size() * plan.gpus.size());
  Measured result{Eigen::VectorXd(count),
                  Eigen::VectorXd(count),
                  Eigen::VectorXd(count),
                  Eigen::VectorXd::Constant(count, 1e-5),
                  {}};
  Eigen::Index c = 0;
  for (const double n : plan.n) {
    for (const double gpus : plan.gpus) {
      result.n[c] = n;
      result.gpus[c] = gpus;
      const auto time = truth.model.step_seconds(truth.values.data(), n, gpus);
      result.kernel[c] = plan.kernel ? std::log(time.gpu) + .003 * noisy.normal()
                                     : std::numeric_limits<double>::quiet_NaN();
      for (int v = 0; v < plan.visits; ++v) {
        const double cpu = time.cpu * std::exp(truth.scatter[1] * noisy.normal());
        const double step = time.gpu * std::exp(truth.scatter[0] * noisy.normal()) + cpu +
                            time.com * std::exp(truth.scatter[2] * noisy.normal());
        const double phase = std::log(cpu) + .05 * noisy.normal();
        result.visits.push_back({c, std::log(step), 1e-6, plan.cpu, plan.cpu ? phase : 0, 1e-4});
      }
      ++c;
    }
  }
  return result;
}

inline model::StepModel model_of(model::GpuTerm gpu, model::CpuTerm cpu, model::ComTerm com) {
  return {model::StepTerms{gpu, cpu, com},
          model::Machine{.cores = 16896, .sms = 132, .block = 256},
          1,
          {}};
}

// t_0, t_pair, t_root; t_cpu; t_kernel; L_h2d, B_h2d, L_d2h, B_d2h
inline True by_work() {
  return {model_of(model::Work{}, model::Linear{}, model::StarSerial{}),
          {7e-6, 8e-13, 2e-10, 9e-9, 3e-6, 8e-6, 2e10, 7e-6, 1.8e10}};
}

// t_0, t_lat, t_blk, p; t_step, t_cpu, r, n_c; t_kernel, B_host, t_queue; L and B of both routes
inline True by_blocks() {
  return {model_of(model::Occupancy{}, model::Bent{}, model::StarAsyncQueue{}),
          {7e-6, 2e-8, 1.5e-8, 3, 5e-7, 8e-9, .8, 1e5, 3e-6, 4e10, 6e-6, 8e-6, 2e10, 7e-6, 1.8e10}};
}

inline const std::vector<double> seven_sizes{2e3, 4e3, 8e3, 16e3, 32e3, 64e3, 128e3};

}  // namespace gpucast::fit::components

// Data made from the paper's equations, written out again as an oracle: nothing here calls model/.
#pragma once

#include <algorithm>
#include <functional>

#include "gpucast/fit/fit.h"
#include "gpucast/fit/observations.h"
#include "gpucast/fit/random.h"

namespace gpucast::fit::synthetic {

// The paper's parameters: seconds, bytes/second; c cores; k integer.
struct Truth {
  int k;
  double c;
  double t_gpu;
  double t_cpu;
  double L_h2d;
  double B_h2d;
  double L_d2h;
  double B_d2h;
  double t_kernel;

  // Equations (1), (2), (3).
  double gpu(double n, double gpus) const {
    return std::ceil(n / (k * c * gpus)) * n * k * c * t_gpu;
  }

  double seconds(double n, double gpus) const {
    const double com =
        (16 * n * gpus / B_h2d + gpus * L_h2d) + (12 * n / B_d2h + gpus * L_d2h) + t_kernel * gpus;
    return gpu(n, gpus) + t_cpu * n + com;
  }

  double transfer(model::Route route, double bytes) const {
    return route == model::Route::h2d ? L_h2d + bytes / B_h2d : L_d2h + bytes / B_d2h;
  }

  // In the order of the model's parameters.
  std::vector<double> values() const {
    return {t_gpu, t_cpu, t_kernel, L_h2d, B_h2d, L_d2h, B_d2h};
  }
};

enum : std::uint8_t { t_gpu, t_cpu, t_kernel, L_h2d, B_h2d, L_d2h, B_d2h };  // places in values()

// GTX-780-like over an expansion box, virtualized over InfiniBand, and two others.
inline constexpr Truth native{4, 2304, 2.5e-11, 4e-8, 1.2e-5, 5.5e9, 1.1e-5, 5.0e9, 8e-6};
inline constexpr Truth virtualized{4, 2304, 2.5e-11, 4e-8, 7.8e-5, 6.1e8, 7.7e-5, 4.4e8, 6e-5};
inline constexpr Truth fast_gpu{2, 2880, 8e-12, 3e-8, 9e-6, 1.1e10, 9e-6, 1.0e10, 5e-6};
inline constexpr Truth slow_host{6, 1536, 4e-11, 2e-7, 1.5e-5, 3.0e9, 1.5e-5, 2.5e9, 1e-5};
inline constexpr Truth all_truths[] = {native, virtualized, fast_gpu, slow_host};

inline model::StepModel paper_model(const Truth& truth) {
  return {model::StepTerms{}, model::Machine{.cores = truth.c}, truth.k, {}};
}

class Noisy {
 public:
  // Lognormal noise; a share of `outliers` is 1.5 to 4 times too slow.
  Noisy(std::uint64_t seed, double sigma, double outliers = 0)
      : random_(seed, 12345), sigma_(sigma), outliers_(outliers) {}

  double normal() {  // Box & Muller
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform()));
    return radius * std::cos(2 * std::numbers::pi * random_.uniform());
  }

  double uniform() { return random_.uniform(); }

  double operator()(double seconds) {
    const double disturbed = seconds * std::exp(sigma_ * normal());
    // Both draws are always made, so that the other samples are the same with and without outliers.
    const bool slow = random_.uniform() < outliers_;
    const double factor = 1.5 + 2.5 * random_.uniform();
    return slow ? disturbed * factor : disturbed;
  }

 private:
  Random random_;
  double sigma_;
  double outliers_;
};

struct Samples {
  std::vector<Cell> cells;
  std::vector<double> seconds;

  void add(const Cell& cell, double time) {
    cells.push_back(cell);
    seconds.push_back(time);
  }

  Observations observations() const {
    return {cells, seconds, std::vector<double>(seconds.size(), 0.0)};
  }
};

inline Cell step(double n, double gpus) { return {.kind = Kind::step, .n = n, .gpus = gpus}; }

inline Cell transfer(model::Route route, double bytes) {
  return {.kind = Kind::transfer, .route = route, .bytes = bytes};
}

inline Cell launch(double count) { return {.kind = Kind::launch, .count = count}; }

// z (evaluate.h) of parameter values.
inline Eigen::VectorXd log_from_values(const model::StepModel& model,
                                       const Eigen::VectorXd& values) {
  Eigen::VectorXd z = values.array().log();
  for (Eigen::Index i = 0; i < z.size(); ++i)
    z[i] *= model.parameter_list()[static_cast<std::size_t>(i)].reciprocal ? -1 : 1;
  return z;
}

inline constexpr double n_grid[] = {1000, 2000, 4000, 8000, 16000, 32000, 64000};
inline constexpr double gpu_grid[] = {1, 2, 3, 4};
inline constexpr double one_gpu[] = {1};

// Seconds of a step of n particles on N GPUs.
using StepSeconds = std::function<double(double n, double gpus)>;

inline void add_steps(Samples& samples, const StepSeconds& seconds, Noisy& noisy,
                      int repetitions = 5, std::span<const double> n = n_grid,
                      std::span<const double> gpus = gpu_grid) {
  for (const double particles : n) {
    for (const double count : gpus)
      for (int repetition = 0; repetition < repetitions; ++repetition)
        samples.add(step(particles, count), noisy(seconds(particles, count)));
  }
}

inline StepSeconds steps_of(const Truth& truth) {
  return [truth](double n, double gpus) { return truth.seconds(n, gpus); };
}

// 64 bytes to 64 MiB.
inline constexpr double transfer_sizes[] = {0x1p6,  0x1p8,  0x1p10, 0x1p12, 0x1p14, 0x1p16,
                                            0x1p18, 0x1p20, 0x1p22, 0x1p24, 0x1p26};

inline void add_microbenchmarks(Samples& samples, const Truth& truth, Noisy& noisy,
                                int repetitions = 5) {
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (const auto route : {model::Route::h2d, model::Route::d2h})
      for (const double bytes : transfer_sizes)
        samples.add(transfer(route, bytes), noisy(truth.transfer(route, bytes)));
    for (const double count : {1.0, 10.0, 100.0})
      samples.add(launch(count), noisy(count * truth.t_kernel));
  }
}

// Steps alone, 7 n x 4 N.
inline Observations steps_alone(const Truth& truth, std::uint64_t seed, double sigma = 0.03,
                                double outliers = 0, int repetitions = 5) {
  Noisy noisy(seed, sigma, outliers);
  Samples samples;
  add_steps(samples, steps_of(truth), noisy, repetitions);
  return samples.observations();
}

// Steps, transfers of both routes and launches.
inline Observations joint(const Truth& truth, std::uint64_t seed, double sigma = 0.03,
                          double outliers = 0) {
  Noisy noisy(seed, sigma, outliers);
  Samples samples;
  add_steps(samples, steps_of(truth), noisy);
  add_microbenchmarks(samples, truth, noisy);
  return samples.observations();
}

// A parameter of a fit, by name.
inline double parameter(const Fit& fitted, const std::string& name) {
  const auto& list = fitted.model.parameter_list();
  return fitted.values()[std::ranges::find(list, name, &model::Parameter::name) - list.begin()];
}

}  // namespace gpucast::fit::synthetic

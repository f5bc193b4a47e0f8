// Models of every combination of terms, with cells and points to evaluate them at.
#pragma once

#include "synthetic.h"

namespace gpucast::fit {

inline std::vector<model::StepModel> every_combination_of_terms() {
  std::vector<model::StepModel> models;
  for (const auto gpu : model::all_gpu_terms) {
    for (const auto cpu : model::all_cpu_terms) {
      for (const auto com : model::all_com_terms) {
        model::TransferCurves curves;
        if (const auto routes = model::routes(com); !routes.empty())
          curves[static_cast<std::size_t>(routes.front())] = model::TransferCurve{{4096, 65536}};
        for (const int integer : {1, 4}) {
          models.emplace_back(model::StepTerms{gpu, cpu, com},
                              model::Machine{.cores = 2304, .sms = 12, .block = 256}, integer,
                              curves);
        }
      }
    }
  }
  return models;
}

// Every kind of cell that the model can time.
inline std::vector<Cell> cells_for(const model::StepModel& model) {
  std::vector<Cell> cells;
  for (const double n : {100.0, 1000.0, 9216.0, 30000.0}) {
    for (const double gpus : {1.0, 2.0, 4.0}) {
      cells.push_back(synthetic::step(n, gpus));
      cells.push_back({.kind = Kind::kernel, .n = n, .gpus = gpus});
      cells.push_back({.kind = Kind::skeleton, .n = n, .gpus = gpus, .busy = 1e-4});
    }
    // Without host work there is no time to take the logarithm of.
    if (!model.terms() || name(model.terms()->cpu) != "none")
      cells.push_back({.kind = Kind::cpu, .n = n});
  }
  for (const auto route : model::all_routes) {
    if (model.has_curve(route))
      for (const double bytes : {64.0, 4096.0, 16384.0, 1e6})
        cells.push_back(synthetic::transfer(route, bytes));
  }
  cells.push_back(synthetic::launch(10));
  return cells;
}

// A random point where every parameter has an effect: typical sizes, each changed by up to a factor
// e, pure numbers by up to its root.
inline Eigen::VectorXd random_point(const model::StepModel& model, synthetic::Noisy& noisy) {
  Eigen::VectorXd z(static_cast<Eigen::Index>(model.parameter_count()));
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    const model::Parameter& parameter = model.parameter_list()[static_cast<std::size_t>(i)];
    double typical = 1e-5;
    const auto is_of = [&](const char* name) { return parameter.name.starts_with(name); };
    if (parameter.is_ratio()) {
      typical = parameter.prior.median;
    } else if (is_of("t_gpu") || is_of("t_pair")) {
      typical = 1e-11;
    } else if (is_of("t_cpu") || is_of("t_lat") || is_of("t_blk") || is_of("t_own") ||
               is_of("t_face")) {
      typical = 1e-8;
    } else if (parameter.reciprocal) {
      typical = 1e-9;
    }
    // Exponents stay within their bounds, where times have derivatives.
    const double width = parameter.is_ratio() ? 0.5 : 1;
    z[i] = std::log(typical) + width * (2 * noisy.uniform() - 1);
  }
  return z;
}

inline std::string describe(const model::StepModel& model) {
  const model::StepTerms terms = model.terms().value_or(model::StepTerms{});
  return std::string(name(terms.gpu)) + "+" + std::string(name(terms.cpu)) + "+" +
         std::string(name(terms.com)) + ", integer " + std::to_string(model.integer());
}

}  // namespace gpucast::fit

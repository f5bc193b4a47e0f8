// T_cpu: the part of a step that the host computes.
#pragma once

#include <variant>
#include <vector>

#include "gpucast/model/catalogue.h"
#include "gpucast/model/parameter.h"
#include "gpucast/model/step.h"
#include "gpucast/model/term.h"

namespace gpucast::model {

// A CPU term has the members of a GPU term (gpu_terms.h) and asks a step for its n only.
inline constexpr auto all_cpu_terms = all_terms<CpuTerm>;

inline std::vector<Parameter> parameters(const CpuTerm& term, const std::vector<double>& knots) {
  return std::visit([&](auto which) { return which.parameters(knots); }, term);
}

template <class T>
T cpu_time(const CpuTerm& term, const T* parameter, const Step& step, const Structure& of) {
  return std::visit([&](auto which) { return which.seconds(parameter, step, of); }, term);
}

}  // namespace gpucast::model

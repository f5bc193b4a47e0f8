// T_cpu: the part of a step that the host computes.
#pragma once

#include <variant>
#include <vector>

#include "gpucast/model/parameter.h"
#include "gpucast/model/step.h"
#include "gpucast/model/term.h"
#include "gpucast/model/terms/affine.h"
#include "gpucast/model/terms/cached.h"
#include "gpucast/model/terms/linear.h"

namespace gpucast::model {

// The catalogue of CPU terms, with the members of a GPU term (gpu_terms.h). A CPU term asks a step
// for its n only.
using CpuTerm = std::variant<Linear, Affine, Cached>;

inline constexpr auto all_cpu_terms = all_terms<CpuTerm>;

inline std::vector<Parameter> parameters(const CpuTerm& term, const std::vector<double>& knots) {
  return std::visit([&](auto which) { return which.parameters(knots); }, term);
}

template <class T>
T cpu_time(const CpuTerm& term, const T* parameter, const Step& step, const Structure& of) {
  return std::visit([&](auto which) { return which.seconds(parameter, step, of); }, term);
}

}  // namespace gpucast::model

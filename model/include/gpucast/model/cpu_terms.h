// T_cpu: the part of a step that the host computes.
#pragma once

#include <stdexcept>
#include <vector>

#include "gpucast/model/parameter.h"
#include "gpucast/model/piecewise.h"

namespace gpucast::model {

enum class CpuTerm { linear, affine, cached };

inline constexpr CpuTerm all_cpu_terms[] = {CpuTerm::linear, CpuTerm::affine, CpuTerm::cached};

// `breakpoints`: of cached; the others have none.
inline std::vector<Parameter> parameters(CpuTerm term, const std::vector<double>& breakpoints) {
  const Parameter per_particle{"t_cpu", "s", "host time a particle"};
  switch (term) {
    case CpuTerm::linear:
      return {per_particle};
    case CpuTerm::affine:
      return {per_particle, {"t_cpu_0", "s", "host time a step, any n"}};
    case CpuTerm::cached:
      return slope_parameters(per_particle, breakpoints);
  }
  throw std::invalid_argument("unknown CPU term");
}

// linear, the paper's equation (2): T_cpu = t_cpu n. The host integrates every particle once.
// affine: T_cpu = t_cpu_0 + t_cpu n, for hosts with a fixed cost a step.
// cached: a chain of straight pieces (piecewise.h) in n. Particles that a level of cache holds from
// one step to the next cost less than those that come from beyond it, so that the slope grows where
// a level is full.
template <class T>
T cpu_time(CpuTerm term, const T* parameter, double n, const std::vector<double>& breakpoints) {
  switch (term) {
    case CpuTerm::linear:
      return n * parameter[0];
    case CpuTerm::affine:
      return n * parameter[0] + parameter[1];
    case CpuTerm::cached:
      return piecewise(breakpoints, parameter, n);
  }
  throw std::invalid_argument("unknown CPU term");
}

}  // namespace gpucast::model

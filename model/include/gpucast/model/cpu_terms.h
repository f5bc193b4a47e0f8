// T_cpu: the part of a step that the host computes.
#pragma once

#include <stdexcept>
#include <vector>

#include "gpucast/model/parameter.h"

namespace gpucast::model {

enum class CpuTerm { linear, affine };

inline constexpr CpuTerm all_cpu_terms[] = {CpuTerm::linear, CpuTerm::affine};

inline std::vector<Parameter> parameters(CpuTerm term) {
  const Parameter per_particle{"t_cpu", "s", "host time a particle"};
  switch (term) {
    case CpuTerm::linear:
      return {per_particle};
    case CpuTerm::affine:
      return {per_particle, {"t_cpu_0", "s", "host time a step, any n"}};
  }
  throw std::invalid_argument("unknown CPU term");
}

// linear, the paper's equation (2): T_cpu = t_cpu n. The host integrates every particle once.
// affine: T_cpu = t_cpu_0 + t_cpu n, for hosts with a fixed cost a step.
template <class T>
T cpu_time(CpuTerm term, const T* parameter, double n) {
  const T per_particles = n * parameter[0];
  return term == CpuTerm::affine ? T(per_particles + parameter[1]) : per_particles;
}

}  // namespace gpucast::model

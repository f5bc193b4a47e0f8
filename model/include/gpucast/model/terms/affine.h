// affine: T_cpu = t_cpu_0 + t_cpu n, for hosts with a fixed time per step.
#pragma once

#include "gpucast/model/term.h"

namespace gpucast::model {

struct Affine {
  static constexpr TermInfo info{
      .name = "affine", .summary = "a fixed cost a step and n", .tried = Tried::by_name};

  static std::vector<Parameter> parameters() {
    return {{"t_cpu", "s", "host time a particle", plausible_host_particle},
            {"t_cpu_0", "s", "host time a step, any n", plausible_host_step}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    return step.n * parameter[0] + parameter[1];
  }
};

}  // namespace gpucast::model

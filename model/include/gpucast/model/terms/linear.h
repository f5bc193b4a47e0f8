// linear, the paper's equation (2): T_cpu = t_cpu n. The host integrates every particle once.
#pragma once

#include "gpucast/model/term.h"

namespace gpucast::model {

struct Linear {
  static constexpr TermInfo info{.name = "linear", .summary = "in proportion to n"};

  static std::vector<Parameter> parameters() {
    return {{"t_cpu", "s", "host time a particle", plausible_host_particle}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    return step.n * parameter[0];
  }
};

}  // namespace gpucast::model

// none: T_cpu = 0, for schedules in which the particles stay on the GPUs from step to step, so that
// the host only launches.
#pragma once

#include "gpucast/model/term.h"

namespace gpucast::model {

struct None {
  static constexpr TermInfo info{
      .name = "none", .summary = "no host work in a step", .tried = Tried::by_name};

  static std::vector<Parameter> parameters() { return {}; }

  template <class T>
  static T seconds(const T* /*parameter*/, const Step& /*step*/, const Structure& /*of*/) {
    return T(0.0);
  }
};

}  // namespace gpucast::model

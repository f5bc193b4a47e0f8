// cached: T_cpu = f(n), a row of straight pieces (piecewise.h). Particles that a level of cache
// holds from one step to the next cost less than those that come from beyond it, so that the slope
// grows where a level is full.
#pragma once

#include "gpucast/model/parameter_priors.h"
#include "gpucast/model/piecewise.h"
#include "gpucast/model/term.h"

namespace gpucast::model {

struct Cached {
  static constexpr TermInfo info{.name = "cached",
                                 .summary = "straight pieces over n",
                                 .bends = Bends::searched,
                                 .tried = Tried::by_name};

  static std::vector<Parameter> parameters(const std::vector<double>& knots) {
    return slope_parameters({"t_cpu", "s", "host time a particle", plausible_host_particle}, knots);
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& of) {
    return piecewise(*of.knots, parameter, step.n);
  }
};

}  // namespace gpucast::model

// pairs: kernels that split the sum over j over blocks, and whose rate grows with the work:
//
//     T_gpu = t_0 + f(m)        m = ceil(n / N) n interactions of the largest share
//
// f is a row of straight pieces as in residency.h; `work` is the special case of one piece.
#pragma once

#include "gpucast/model/parameter_priors.h"
#include "gpucast/model/piecewise.h"
#include "gpucast/model/term.h"

namespace gpucast::model {

struct Pairs {
  static constexpr TermInfo info{.name = "pairs",
                                 .summary = "straight pieces over the work of the largest share",
                                 .constant = true,
                                 .bends = Bends::evenly,
                                 .tried = Tried::by_name};

  static std::vector<Parameter> parameters(const std::vector<double>& knots) {
    return slope_parameters({"t_pair", "s", "time of one more interaction on one GPU"}, knots,
                            {{"t_0", "s", "start-up of the kernel", plausible_start_up}});
  }

  static double coordinate(const Step& step, const Machine& /*machine*/) { return step.work(); }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& of) {
    return parameter[0] + piecewise(*of.knots, parameter + 1, coordinate(step, of.machine));
  }
};

}  // namespace gpucast::model

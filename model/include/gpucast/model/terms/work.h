// work: kernels that split the sum over j into parts for several blocks keep a GPU busy at any n;
// what is left is a start-up time and work in proportion to the interactions of the largest share:
//
//     T_gpu = t_0 + ceil(n / N) * n * t_pair
#pragma once

#include "gpucast/model/term.h"

namespace gpucast::model {

struct Work {
  static constexpr TermInfo info{.name = "work",
                                 .summary = "in proportion to the work of the largest share",
                                 .constant = true};

  static std::vector<Parameter> parameters(const std::vector<double>& /*knots*/) {
    return {{"t_0", "s", "start-up of the kernel"},
            {"t_pair", "s", "time of one interaction on one GPU"}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    return parameter[0] + step.work() * parameter[1];
  }
};

}  // namespace gpucast::model

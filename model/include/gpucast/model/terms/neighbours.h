// neighbours: domain decomposition with interactions of short range. A GPU computes for the
// elements that it owns, whose number of neighbours does not depend on n:
//
//     T_gpu = t_0 + (n / N) t_own
//
// t_0 is the time of kernels and synchronisation however little there is to compute: with few
// elements a GPU is not full, and the time of a step is constant.
#pragma once

#include "gpucast/model/term.h"

namespace gpucast::model {

struct Neighbours {
  static constexpr TermInfo info{.name = "neighbours",
                                 .summary = "in proportion to the elements that a GPU owns",
                                 .constant = true,
                                 .tried = Tried::decomposed};

  static std::vector<Parameter> parameters() {
    return {{"t_0", "s", "start-up of the kernels of a step", plausible_start_up},
            {"t_own", "s", "time of one owned element on one GPU"}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    return parameter[0] + step.n / step.gpus * parameter[1];
  }
};

}  // namespace gpucast::model

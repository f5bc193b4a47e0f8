// work: kernels that split the sum over j into parts for several blocks keep a GPU busy at any n;
// what is left is a start-up time and work in proportion to the interactions of the largest share,
//
//     T_gpu = t_0 + m t_pair + sqrt(m) t_root        m = ceil(n / N) n
//
// with a part that fades. Were it not for the third term, the rate m / T_gpu would be at its limit
// 1 / t_pair as soon as the start-up no longer counts; measured rates of such kernels grow long
// beyond that, because the last blocks of a launch, the filling of pipelines and the sums over
// parts keep a share of the GPU idle that falls as the work grows. A share in proportion to 1 /
// sqrt(m) describes them from 10^6 to 10^11 interactions. With t_root = 0 this is a straight line
// in m.
#pragma once

#include <cmath>

#include "gpucast/model/term.h"

namespace gpucast::model {

struct Work {
  static constexpr TermInfo info{
      .name = "work", .summary = "the work of the largest share, and its root", .constant = true};

  static std::vector<Parameter> parameters() {
    return {{"t_0", "s", "start-up of the kernel", plausible_start_up},
            {"t_pair", "s", "time of one interaction on one GPU"},
            {"t_root", "s", "time that grows with the root of the interactions", plausible_root}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    const double work = step.work();
    return parameter[0] + work * parameter[1] + std::sqrt(work) * parameter[2];
  }
};

}  // namespace gpucast::model

// star-serial-hide: star-serial where the GPUs' work hides a part of the launches, and its end is
// seen at once.
//
// The host launches all GPUs before it waits for the first, so that N - 1 launches have passed when
// it comes to wait, and T_gpu - (N - 1) t_kernel is left, if anything is. As star-serial-poll,
// without its ticks, where copies are not held up by the kernel before them or nobody knows:
//
//     T_com = (1 + (N - 1) s_next) (T_h2d(16 n) + T_d2h(12 n / N)) + N t_kernel
//             + h(T_gpu - (N - 1) t_kernel) - T_gpu
//
// h(x) = max(x, 0), rounded within a microsecond or so of 0: launches do not all take the same, and
// what is left is sometimes more, sometimes less than nothing.
#pragma once

#include <cmath>

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

// The positive part of x in seconds: tau ln(1 + exp(x / tau)), which is x + tau ln(1 + exp(-x /
// tau)), the form that does not overflow for x > 0.
template <class T>
T left_over(const T& x) {
  using std::exp;
  using std::log;
  constexpr double tau = 1e-6;  // s
  return x > 0.0 ? T(x + tau * log(1.0 + exp(-x / tau))) : T(tau * log(1.0 + exp(x / tau)));
}

struct StarSerialHide {
  static constexpr TermInfo info{.name = "star-serial-hide",
                                 .summary = "star-serial, launches hidden behind the GPUs' work",
                                 .linear = false,
                                 .schedule = "star-serial"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return {launch_parameter(), share_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T& t_kernel = parameter[0];
    const double others = step.gpus - 1;
    const T sent = copies_by_share(parameter, curve, step);
    return step.linear ? sent : T(sent + left_over(T(step.t_gpu - others * t_kernel)) - step.t_gpu);
  }
};

}  // namespace gpucast::model

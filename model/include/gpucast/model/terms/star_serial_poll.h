// star-serial-poll: star-serial where the GPUs' work hides a part of the launches and is seen late.
//
// The host launches all GPUs before it waits for the first, so that when it comes to wait, N - 1
// launches and t_lead have passed and T_gpu - (N - 1) t_kernel - t_lead is left; the copies from
// the other GPUs, one after another, find theirs finished. It sees the end of what is left at a
// tick of the copy engine (W and t_lead: poll.h):
//
//     T_com = (1 + (N - 1) s_next) (T_h2d(16 n) + T_d2h(12 n / N)) + N t_kernel
//             + W(T_gpu - (N - 1) t_kernel - t_lead) - T_gpu
//
// s_next is 1 where each copy waits for the one before. From pageable memory a driver returns once
// it has the data, and goes on to the next GPU while the bytes are under way.
#pragma once

#include "gpucast/model/poll.h"
#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct StarSerialPoll {
  static constexpr TermInfo info{.name = "star-serial-poll",
                                 .summary = "star-serial, launches hidden, the end seen at a tick",
                                 .linear = false,
                                 .schedule = "star-serial",
                                 .sees_ticks = true};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return {launch_parameter(), share_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T& t_kernel = parameter[0];
    const double others = step.gpus - 1;
    const T sent = copies_by_share(parameter, curve, step);
    return step.linear
               ? sent
               : T(sent + polled(T(step.t_gpu - others * t_kernel - poll_lead)) - step.t_gpu);
  }
};

}  // namespace gpucast::model

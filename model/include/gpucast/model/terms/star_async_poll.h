// star-async-poll: star-async where queueing a GPU's copies takes the host t_queue in addition to
// the launch, and the copy back sees the kernel's end at a tick (W and t_lead: poll.h):
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host
//             + N (t_kernel + t_queue) + W(T_gpu - t_lead) - T_gpu
#pragma once

#include "gpucast/model/poll.h"
#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct StarAsyncPoll {
  static constexpr TermInfo info{.name = "star-async-poll",
                                 .summary = "star-async, queued, the end seen at a tick",
                                 .linear = false,
                                 .schedule = "star-async",
                                 .sees_ticks = true};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(), shared_host_parameter(), queue_parameter()};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const double others = (step.gpus - 1) * (step.bytes_in() + step.bytes_out());
    const T sent = curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) +
                   others / parameter[1] + step.gpus * (parameter[0] + parameter[2]);
    return step.linear ? sent : T(sent + polled(T(step.t_gpu - poll_lead)) - step.t_gpu);
  }
};

}  // namespace gpucast::model

// star-async-queue: star-async where queueing a GPU's copies takes the host t_queue in addition to
// the launch; the copy back follows the kernel at once (star-async-poll: at a tick):
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host
//             + N (t_kernel + t_queue)
#pragma once

#include "gpucast/model/terms/star_async.h"

namespace gpucast::model {

struct StarAsyncQueue {
  static constexpr TermInfo info{.name = "star-async-queue",
                                 .summary = "star-async, each GPU's copies queued by the host",
                                 .schedule = "star-async"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(), shared_host_parameter(), queue_parameter()};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return StarAsync::seconds(parameter, curve, step) + step.gpus * parameter[2];
  }
};

}  // namespace gpucast::model

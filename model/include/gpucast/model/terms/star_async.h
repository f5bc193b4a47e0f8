// star-async: pinned copies, one stream a GPU, all under way at once. Latencies and the GPUs' own
// links overlap; launches are submitted one after another; whatever the transfers share on the host
// side (root port, memory) passes the bytes of the other N - 1 GPUs at B_host:
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host + N t_kernel
#pragma once

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct StarAsync {
  static constexpr TermInfo info{.name = "star-async",
                                 .summary = "all GPUs at once, a shared host side",
                                 .tried = Tried::by_name,
                                 .schedule = "star-async"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(), shared_host_parameter()};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const double others = (step.gpus - 1) * (step.bytes_in() + step.bytes_out());
    return curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) +
           others / parameter[1] + step.gpus * parameter[0];
  }
};

}  // namespace gpucast::model

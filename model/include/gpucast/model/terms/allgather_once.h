// allgather-once: allgather where the rounds of the ring follow one another without the host. A
// collective is started once, and the GPUs pass on what they get piece by piece, so that all rounds
// together have the latency of one transfer of their bytes; one launch a GPU from one thread:
//
//     T_com = [N > 1] T_peer((N - 1) 16 n / N) + N t_kernel
//
// which is L_peer + (N - 1) 16 n / (N B_peer) + N t_kernel for a straight line.
#pragma once

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct AllgatherOnce {
  static constexpr TermInfo info{.name = "allgather-once",
                                 .summary = "a ring of GPUs whose rounds share one latency",
                                 .schedule = "allgather"};
  static constexpr Route routes[] = {Route::peer};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T launched = step.gpus * parameter[0];
    return step.gpus > 1
               ? T(curve(Route::peer, (step.gpus - 1) * step.bytes_in() / step.gpus) + launched)
               : launched;
  }
};

}  // namespace gpucast::model

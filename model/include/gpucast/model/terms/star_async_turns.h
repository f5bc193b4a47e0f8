// star-async-turns: work that should run concurrently runs in turns, because the caller waits for
// each call (remote GPUs in synchronous mode): the GPUs compute one after another, too:
//
//     T_com = N T_h2d(16 n) + N T_d2h(12 n / N) + N t_kernel + (N - 1) T_gpu
#pragma once

#include "gpucast/model/terms/star_serial.h"

namespace gpucast::model {

struct StarAsyncTurns {
  static constexpr TermInfo info{.name = "star-async-turns",
                                 .summary = "star-async by turns, GPUs one after another",
                                 .schedule = "star-async"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return StarSerial::parameters(); }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return StarSerial::seconds(parameter, curve, step) + (step.gpus - 1) * step.t_gpu;
  }
};

}  // namespace gpucast::model

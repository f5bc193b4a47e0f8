// allgather-queue: the host queues steps ahead, N (t_kernel + t_queue) each, while the GPUs work;
// the slower of the two sets the pace (a p-norm with p = 8 joins them). A collective's rounds
// follow one another on the GPUs, so its latency counts once:
//
//     T_com = |T_gpu + T_peer((N - 1) 16 n / N), N (t_kernel + t_queue)|_8 - T_gpu
//
// With one GPU there is no transfer and no t_queue.
#pragma once

#include <cmath>

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

// The larger of two times, smoothly: their p-norm with p = 8.
template <class T>
T slower_of(const T& a, const T& b) {
  using std::pow;
  constexpr double p = 8;
  const T& larger = a > b ? a : b;
  const T& smaller = a > b ? b : a;
  return larger * pow(1.0 + pow(smaller / larger, p), 1 / p);
}

struct AllgatherQueue {
  static constexpr TermInfo info{.name = "allgather-queue",
                                 .summary = "the host queues ahead of the GPUs' allgather",
                                 .linear = false,
                                 .schedule = "allgather"};
  static constexpr Route routes[] = {Route::peer};

  static std::vector<Parameter> parameters() { return {launch_parameter(), queue_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T& t_kernel = parameter[0];
    const bool several = step.gpus > 1;
    const T queued = several ? T(step.gpus * (t_kernel + parameter[1])) : t_kernel;
    const T sent = several ? curve(Route::peer, (step.gpus - 1) * step.bytes_in() / step.gpus)
                           : T(0.0 * t_kernel);
    // Start values assign to the queue what either could explain, and give the transfer a fifth:
    // large steps then determine the transfer's share.
    constexpr double second = 0.2;
    return step.linear ? T(second * sent + queued)
                       : T(slower_of(T(step.t_gpu + sent), queued) - step.t_gpu);
  }
};

}  // namespace gpucast::model

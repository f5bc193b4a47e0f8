// allgather: positions stay on the GPUs and go round a ring, N - 1 rounds of 16 n / N bytes from
// each GPU to its neighbour (Thakur, Rabenseifner & Gropp 2005); one launch a GPU from one thread:
//
//     T_com = (N - 1) T_peer(16 n / N) + N t_kernel
#pragma once

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct Allgather {
  static constexpr TermInfo info{
      .name = "allgather", .summary = "shares go round a ring of GPUs", .schedule = "allgather"};
  static constexpr Route routes[] = {Route::peer};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return (step.gpus - 1) * curve(Route::peer, step.bytes_in() / step.gpus) +
           step.gpus * parameter[0];
  }
};

}  // namespace gpucast::model

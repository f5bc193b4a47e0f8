// mpi: a rank a GPU. Ranks copy and launch side by side; positions then go round the ring of ranks:
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + t_kernel + (N - 1) T_net(16 n / N)
#pragma once

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct Mpi {
  static constexpr TermInfo info{
      .name = "mpi", .summary = "a rank a GPU, shares go round the ranks", .schedule = "mpi"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h, Route::net};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) + parameter[0] +
           (step.gpus - 1) * curve(Route::net, step.bytes_in() / step.gpus);
  }
};

}  // namespace gpucast::model

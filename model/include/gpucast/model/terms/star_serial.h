// star-serial, the paper's equation (3): the host talks to one GPU after another, every GPU gets
// all positions, each sends back its share, each is launched once:
//
//     T_com = N T_h2d(16 n) + N T_d2h(12 n / N) + N t_kernel
//
// which is, for straight lines,
//
//     T_com = (16 n N / B_h2d + N L_h2d) + (12 n / B_d2h + N L_d2h) + t_kernel N
#pragma once

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct StarSerial {
  static constexpr TermInfo info{.name = "star-serial",
                                 .summary = "the host serves one GPU after another",
                                 .schedule = "star-serial"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return step.gpus * (curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) +
                        parameter[0]);
  }
};

}  // namespace gpucast::model

// halo: domain decomposition in three dimensions (Plimpton 1995). Each of several GPUs gets the
// elements about its own from its neighbours in every step, as many as its domain has surface:
//
//     T_com = t_kernel + [N > 1] (t_edge + (n / N)^(2/3) t_face)
//
// t_edge is the latency of a step's messages, t_face the time of one element of the surface.
#pragma once

#include <array>
#include <cmath>

#include "gpucast/model/terms/launch.h"

namespace gpucast::model {

struct Halo {
  static constexpr TermInfo info{.name = "halo",
                                 .summary = "the surface of a domain goes to its neighbours"};
  // Transfers alone do not show how long a halo takes.
  static constexpr std::array<Route, 0> routes{};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(),
            {"t_edge", "s", "latency of a step's messages to neighbours"},
            {"t_face", "s", "time to send one element of a domain's surface"}};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& /*curve*/, const ComStep<T>& step) {
    const double several = step.gpus > 1 ? 1 : 0;
    const double surface = std::pow(step.n / step.gpus, 2.0 / 3);
    return parameter[0] + several * (parameter[1] + surface * parameter[2]);
  }
};

}  // namespace gpucast::model

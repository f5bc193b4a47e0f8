// imbalance: all wait for the GPU that has most to do. The expected largest of N like deviations
// grows about as log N:
//
//     T = t_imbalance f(n) / N log2 N
#pragma once

#include <cmath>

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Imbalance {
  static constexpr TermInfo info{.name = "imbalance",
                                 .summary = "the slowest of many GPUs, which all others wait for",
                                 .part = Part::gpu,
                                 .place = Place::work,
                                 .grows = true,
                                 .odds = -1.2};

  static double shape(const Scale& step) { return step.work() / step.gpus * std::log2(step.gpus); }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

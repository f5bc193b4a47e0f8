// jitter: as imbalance, where deviations have a heavy tail (noise of the system, contention): the
// largest of N then grows as a power of N rather than as its logarithm:
//
//     T = t_jitter f(n) / N (N^(1/4) - 1)
#pragma once

#include <cmath>

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Jitter {
  static constexpr TermInfo info{.name = "jitter",
                                 .summary = "waiting for the slowest of very many GPUs",
                                 .part = Part::gpu,
                                 .place = Place::work,
                                 .grows = true,
                                 .odds = -2};

  static double shape(const Scale& step) {
    return step.work() / step.gpus * (std::sqrt(std::sqrt(step.gpus)) - 1);
  }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

// reduction: all-reduce of a few numbers (energies, dot products, the time step) along a tree:
//
//     T = t_reduce log2 N
#pragma once

#include <cmath>

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Reduction {
  static constexpr TermInfo info{.name = "reduction",
                                 .summary = "sums over all GPUs along a tree",
                                 .part = Part::com,
                                 .place = Place::after,
                                 .odds = 0.1};

  static double shape(const Scale& step) { return std::log2(step.gpus); }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

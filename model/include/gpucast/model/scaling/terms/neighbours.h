// neighbours: latency of a message through each cut face; with few GPUs a domain has few
// neighbours:
//
//     T = t_message (1 - N^(-1/3))
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Neighbours {
  static constexpr TermInfo info{.name = "neighbours",
                                 .summary = "messages to neighbours, few while the GPUs are few",
                                 .part = Part::com,
                                 .place = Place::after,
                                 .odds = -0.7};

  static double shape(const Scale& step) { return step.cut(); }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

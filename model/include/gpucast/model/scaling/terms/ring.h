// ring: a ring of N GPUs takes N - 1 steps, an all-to-all N - 1 messages (NCCL's PERFORMANCE.md):
//
//     T = t_ring (N - 1)
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Ring {
  static constexpr TermInfo info{.name = "ring",
                                 .summary = "messages that grow with the GPUs in number",
                                 .part = Part::com,
                                 .place = Place::after,
                                 .odds = -2.5};

  static double shape(const Scale& step) { return step.gpus - 1; }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

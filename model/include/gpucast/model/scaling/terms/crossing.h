// crossing: messages between nodes take longer than messages within one, and every step waits for
// them as soon as there are several nodes (two pairs of latency and bandwidth: NCCL's
// PERFORMANCE.md):
//
//     T = [nodes > 1] t_crossing
//
// Offered where the steps state their nodes and these differ.
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Crossing {
  static constexpr TermInfo info{.name = "crossing",
                                 .summary = "what a step pays as soon as there are several nodes",
                                 .part = Part::com,
                                 .place = Place::after,
                                 .odds = -1.5};

  static double shape(const Scale& step) { return step.nodes > 1 ? 1 : 0; }
  static bool offered(const Extent& measured) { return measured.several_nodes; }
};

}  // namespace gpucast::model::scaling

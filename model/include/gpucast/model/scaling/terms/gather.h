// gather: every GPU gets what the others have of all n elements in every step, as replicated data
// and programs do that copy positions through one device (section "Replicated data" of Plimpton
// 1995; all-gather in NCCL's PERFORMANCE.md):
//
//     T = t_gather n (N - 1) / N
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Gather {
  static constexpr TermInfo info{.name = "gather",
                                 .summary = "all elements sent to every GPU",
                                 .part = Part::com,
                                 .place = Place::beside,
                                 .odds = -2.0};

  static double shape(const Scale& step) { return step.n * (step.gpus - 1) / step.gpus; }
  static bool offered(const Extent& measured) {
    return measured.counts > 1 && measured.shares_differ;
  }
};

}  // namespace gpucast::model::scaling

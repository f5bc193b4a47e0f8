// host: what one process does for all elements (staging, packing, output, positions sent to all):
//
//     T = t_host n
//
// With few sizes the term is hard to tell from others and ruins extrapolation to more GPUs, so it
// needs evidence (fit/scaling/priors.h).
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Host {
  static constexpr TermInfo info{.name = "host",
                                 .summary = "the host's work on all elements, not shared out",
                                 .part = Part::cpu,
                                 .place = Place::beside,
                                 .odds = -1.5};

  static double shape(const Scale& step) { return step.n; }
  static bool offered(const Extent& measured) {
    return measured.counts > 1 && measured.shares_differ;
  }
};

}  // namespace gpucast::model::scaling

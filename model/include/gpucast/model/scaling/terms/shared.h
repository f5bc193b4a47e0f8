// shared: a fixed cost that devices share out. R processes drive N devices, each process pays for
// its launches, and those of one device wait for one another: R / N times the cost of one:
//
//     T = t_shared / N
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Shared {
  static constexpr TermInfo info{.name = "shared",
                                 .summary = "fixed work that the GPUs share out",
                                 .part = Part::gpu,
                                 .place = Place::work,
                                 .odds = -2};

  static double shape(const Scale& step) { return 1 / step.gpus; }
  static bool offered(const Extent& measured) { return measured.sizes > 1 && measured.counts > 1; }
};

}  // namespace gpucast::model::scaling

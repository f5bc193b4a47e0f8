// several: another way through the program as soon as there is anything to exchange:
//
//     T = [N > 1] t_several
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Several {
  static constexpr TermInfo info{.name = "several",
                                 .summary = "what a step pays as soon as there are several GPUs",
                                 .part = Part::com,
                                 .place = Place::after,
                                 .odds = 0.1};

  static double shape(const Scale& step) { return step.gpus > 1 ? 1 : 0; }
  static bool offered(const Extent& measured) { return measured.least_gpus <= 2; }
};

}  // namespace gpucast::model::scaling

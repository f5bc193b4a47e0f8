// start: launches, synchronisation, and whatever else a step does once, however large it is:
//
//     T = t_start
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Start {
  static constexpr TermInfo info{.name = "start",
                                 .summary = "a time that every step pays",
                                 .part = Part::cpu,
                                 .place = Place::after,
                                 .odds = 0.6};

  static double shape(const Scale& /*step*/) { return 1; }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

// filling: with few elements a GPU's multiprocessors are not all busy, and a step takes as long as
// one element takes: the time is flat below a half-performance size (Hockney's n_1/2), the larger
// of
//
//     T = t_fill
//
// and the work (form.h joins the two smoothly). Neighbour-list codes with 10^4 atoms a GPU and
// neural potentials show it.
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Filling {
  static constexpr TermInfo info{.name = "filling",
                                 .summary = "the least time of GPUs that are not full",
                                 .part = Part::gpu,
                                 .place = Place::filling,
                                 .odds = -1.0};

  static double shape(const Scale& /*step*/) { return 1; }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

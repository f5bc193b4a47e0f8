// dedicated: one of several GPUs does something else, the others share out the work, as GROMACS
// does with its rank for the long-range part (GROMACS manual, "Separate PME ranks"):
//
//     T = t_work f(n) / max(1, N - 1)
//
// The jump from N = 1 to 2 cannot be known before N = 2 was measured, the gain from 2 to 3 not
// before N = 3; so the term is offered from three counts on.
#pragma once

#include <algorithm>

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Dedicated {
  static constexpr TermInfo info{.name = "dedicated",
                                 .summary = "the program's work, shared out among all GPUs but one",
                                 .part = Part::gpu,
                                 .place = Place::work,
                                 .grows = true,
                                 .odds = -3};

  static double shape(const Scale& step) { return step.work() / std::max(1.0, step.gpus - 1); }
  static bool offered(const Extent& measured) {
    return measured.counts > 2 && measured.largest_gpus > 2;
  }
};

}  // namespace gpucast::model::scaling

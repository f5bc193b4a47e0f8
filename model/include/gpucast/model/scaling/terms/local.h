// local: every GPU does the work of a program of its own share, as where domains are solved by
// themselves or elements pair up within them:
//
//     T = t_work f(n / N)
//
// Where work grows as n, this is `work`.
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Local {
  // As rare as `whole`.
  static constexpr TermInfo info{.name = "local",
                                 .summary = "the program's work on each GPU's share by itself",
                                 .part = Part::gpu,
                                 .place = Place::work,
                                 .grows = true,
                                 .faster = true,
                                 .odds = -3.4};

  static double shape(const Scale& step) {
    Scale share = step;
    share.n = step.share();
    return share.work();
  }
  static bool offered(const Extent& measured) {
    return measured.sizes > 1 && measured.counts > 1 && measured.shares_differ;
  }
};

}  // namespace gpucast::model::scaling

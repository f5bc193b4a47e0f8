// whole: work that more GPUs do not shorten: every GPU does all of it, or one does and the others
// wait, as where a program uses one device whatever it is given:
//
//     T = t_work f(n)
//
// Of one GPU count it cannot be told from work that is shared out, and where all shares are alike
// not from any cost that grows with N.
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Whole {
  // Of some thirty programs with published tables (fit/scaling/priors.h) none is of this kind;
  // odds of 1 to 31 are Laplace's rule of succession for that.
  static constexpr TermInfo info{.name = "whole",
                                 .summary = "the program's work, not shared out at all",
                                 .part = Part::gpu,
                                 .place = Place::work,
                                 .grows = true,
                                 .odds = -3.4};

  static double shape(const Scale& step) { return step.work(); }
  static bool offered(const Extent& measured) {
    return measured.counts > 1 && measured.shares_differ;
  }
};

}  // namespace gpucast::model::scaling

// work: what a step computes, f(n), is shared out evenly among N GPUs:
//
//     T = t_work f(n) / N
//
// f is n for interactions of short range, stencils and training by batches; n log n with Fourier
// transforms, n^(4/3) where a sum is truncated by accuracy, n^(3/2) for Ewald sums, n^2 for all
// pairs, n^3 for dense linear algebra (growths, scale.h).
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Work {
  static constexpr TermInfo info{.name = "work",
                                 .summary = "the program's work, shared out among the GPUs",
                                 .part = Part::gpu,
                                 .place = Place::work,
                                 .grows = true};

  static double shape(const Scale& step) { return step.work() / step.gpus; }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

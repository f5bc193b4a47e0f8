// thread: with few elements a GPU's multiprocessors are not all busy, and a step takes as long as
// the work of one element takes:
//
//     T = t_thread f(n) / n
//
// With all pairs, f = n^2, one thread goes through all n partners whatever the others do, and steps
// grow as n until the GPU is full, then as n^2 / N (form.h joins the two). Where work grows as n,
// this is `filling`.
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Thread {
  static constexpr TermInfo info{.name = "thread",
                                 .summary = "one element's work, where GPUs are not full",
                                 .part = Part::gpu,
                                 .place = Place::filling,
                                 .grows = true,
                                 .faster = true,
                                 .odds = -1.0};

  static double shape(const Scale& step) { return step.work() / step.n; }
  static bool offered(const Extent& measured) { return measured.sizes > 1; }
};

}  // namespace gpucast::model::scaling

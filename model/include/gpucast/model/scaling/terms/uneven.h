// uneven: work that decomposition adds in proportion to a GPU's share wherever a face is cut:
// packing, lists and passes over ghost elements that are sized by the share, unequal domains:
//
//     T = t_uneven f(n) / N (1 - N^(-1/3))
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Uneven {
  static constexpr TermInfo info{
      .name = "uneven",
      .summary = "work at the domains' cut faces, in proportion to the share",
      .part = Part::gpu,
      .place = Place::work,
      .grows = true,
      .odds = -1.2};

  static double shape(const Scale& step) { return step.work() / step.gpus * step.cut(); }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

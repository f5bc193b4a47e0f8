// stages: surfaces that go through a network whose stages grow as log2 N, or are exchanged along a
// tree (multigrid: a halo a level, and as many levels as the log of the domains):
//
//     T = t_stage (n / N)^(2/3) log2 N
#pragma once

#include <cmath>

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Stages {
  static constexpr TermInfo info{.name = "stages",
                                 .summary = "surfaces of domains, exchanged in stages",
                                 .part = Part::com,
                                 .place = Place::beside,
                                 .odds = -1.2};

  static double shape(const Scale& step) { return step.surface() * std::log2(step.gpus); }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

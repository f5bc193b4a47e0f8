// edges: exchange that grows more slowly than the surface: halos that are thick against their
// domain (the shell of ghosts of a small domain), surfaces of two-dimensional domains:
//
//     T = t_edge (n / N)^(1/3) (1 - N^(-1/3))
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Edges {
  static constexpr TermInfo info{.name = "edges",
                                 .summary = "edges of domains, or surfaces in two dimensions",
                                 .part = Part::com,
                                 .place = Place::beside,
                                 .odds = -1.2};

  static double shape(const Scale& step) { return step.edge() * step.cut(); }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

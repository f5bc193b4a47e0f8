// halo: each GPU gets the elements about its domain from its neighbours, as many as the domain has
// surface (Plimpton 1995), through the faces that are cut (scale.h):
//
//     T = t_face (n / N)^(2/3) (1 - N^(-1/3))
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Halo {
  static constexpr TermInfo info{.name = "halo",
                                 .summary = "surfaces of domains, exchanged between neighbours",
                                 .part = Part::com,
                                 .place = Place::beside,
                                 .odds = -2.0};

  static double shape(const Scale& step) { return step.surface() * step.cut(); }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

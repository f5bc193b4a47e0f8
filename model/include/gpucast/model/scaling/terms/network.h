// network: the domains of a node's GPUs lie side by side; through the network go only the elements
// about all of them, (n / nodes)^(2/3), on the share of the faces that is cut (scale.h):
//
//     T = t_network (n / nodes)^(2/3) (1 - nodes^(-1/3))
//
// Offered where the steps state their nodes and these differ.
#pragma once

#include <cmath>

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Network {
  static constexpr TermInfo info{.name = "network",
                                 .summary = "surfaces of nodes' domains, through the network",
                                 .part = Part::com,
                                 .place = Place::beside,
                                 .odds = -1.5};

  static double shape(const Scale& step) {
    return step.nodes > 1 ? std::pow(step.n / step.nodes, 2.0 / 3) * (1 - 1 / std::cbrt(step.nodes))
                          : 0;
  }
  static bool offered(const Extent& measured) { return measured.several_nodes; }
};

}  // namespace gpucast::model::scaling

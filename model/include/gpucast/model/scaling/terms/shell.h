// shell: as halo, but with every face exchanged as soon as there are several GPUs, as programs do
// that treat periodic images like neighbours:
//
//     T = [N > 1] t_shell (n / N)^(2/3)
#pragma once

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Shell {
  static constexpr TermInfo info{
      .name = "shell",
      .summary = "surfaces of domains, all faces cut as soon as there are two",
      .part = Part::com,
      .place = Place::beside,
      .odds = 0.3};

  static double shape(const Scale& step) { return step.gpus > 1 ? step.surface() : 0; }
  static bool offered(const Extent& measured) { return measured.least_gpus <= 2; }
};

}  // namespace gpucast::model::scaling

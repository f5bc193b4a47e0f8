// transpose: a three-dimensional Fourier transform over pencils: each GPU sends to about sqrt(N)
// others (LAMMPS, Developer_par_long):
//
//     T = t_transpose (sqrt(N) - 1)
#pragma once

#include <cmath>

#include "gpucast/model/scaling/scale.h"
#include "gpucast/model/scaling/term.h"

namespace gpucast::model::scaling {

struct Transpose {
  static constexpr TermInfo info{.name = "transpose",
                                 .summary = "transposes of a Fourier transform, latency",
                                 .part = Part::com,
                                 .place = Place::beside,
                                 .odds = -2};

  static double shape(const Scale& step) { return std::sqrt(step.gpus) - 1; }
  static bool offered(const Extent& /*measured*/) { return true; }
};

}  // namespace gpucast::model::scaling

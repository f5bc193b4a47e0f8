// Thread blocks on the busiest multiprocessor: what terms for kernels with a thread a particle are
// functions of.
#pragma once

#include <cmath>

#include "gpucast/model/term.h"

namespace gpucast::model {

inline constexpr Fact facts_of_blocks[] = {sms, block};

//     w = ceil(ceil(ceil(n / N) / b) / s)
//
// A GPU's ceil(n / N) particles fill blocks of b threads; the busiest of s multiprocessors gets w
// of them and runs them together.
inline double blocks_on_busiest(const Step& step, const Machine& machine) {
  return std::ceil(std::ceil(step.share() / machine.block) / machine.sms);
}

}  // namespace gpucast::model

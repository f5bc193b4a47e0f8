// wave, the paper's equation (1) (Setoguchi & Narumi):
//
//     T_gpu = ceil(n / (k c N)) * n * k * c * t_gpu
//
// N GPUs run k c N threads at once, one particle a thread, so n particles take ceil(n / (k c N))
// waves. In a wave each thread visits all n particles. c cores share the k c threads of a GPU,
// which is why a visit takes k c t_gpu: t_gpu is the time of one interaction at the GPU's full
// rate. The ceil is plain double arithmetic, also for scalars that carry derivatives: it is
// piecewise constant in n, N and k and does not involve t_gpu. Quotients of integers below 2^53
// that divide evenly are exact, so full waves are not rounded up.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gpucast/model/term.h"

namespace gpucast::model {

struct Wave {
  static constexpr Fact needs[] = {cores};
  static constexpr TermInfo info{.name = "wave",
                                 .summary = "waves of k threads a core, one particle a thread",
                                 .needs = needs,
                                 .integer = "k",
                                 .tried = Tried::by_name};

  static std::vector<Parameter> parameters() {
    return {{"t_gpu", "s", "time of one interaction at a GPU's full rate"}};
  }

  // k is enumerated up to the number of threads that a core can hold resident.
  static std::vector<int> integers(int largest_k) {
    std::vector<int> all(static_cast<std::size_t>(std::max(1, largest_k)));
    std::iota(all.begin(), all.end(), 1);
    return all;
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& structure) {
    const double threads = structure.integer * structure.machine.cores;
    return std::ceil(step.n / (threads * step.gpus)) * step.visits() * threads * parameter[0];
  }
};

}  // namespace gpucast::model

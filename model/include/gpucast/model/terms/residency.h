// residency: kernels with a thread a particle whose speed depends on how full they make a GPU, in a
// way that no short formula has:
//
//     T_gpu = t_0 + n f(w)        w: blocks on the busiest multiprocessor (blocks.h)
//
// f is a row of straight pieces (piecewise.h) with f(0) = 0 and slopes of at least 0, found from
// the data like a transfer curve: the time of one visited particle with w blocks resident, all that
// a kernel's latency, issue slots and limits of residency make of it. GPU counts that share out w
// blocks cost what one GPU with w blocks does.
#pragma once

#include "gpucast/model/blocks.h"
#include "gpucast/model/parameter_priors.h"
#include "gpucast/model/piecewise.h"

namespace gpucast::model {

struct Residency {
  static constexpr TermInfo info{
      .name = "residency",
      .summary = "straight pieces over the blocks on the busiest multiprocessor",
      .needs = facts_of_blocks,
      .constant = true,
      .bends = Bends::everywhere,
      .tried = Tried::by_name};

  static std::vector<Parameter> parameters(const std::vector<double>& knots) {
    return slope_parameters({"t_blk", "s", "time of one visited particle for each further block"},
                            knots, {{"t_0", "s", "start-up of the kernel", plausible_start_up}});
  }

  static double coordinate(const Step& step, const Machine& machine) {
    return blocks_on_busiest(step, machine);
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& of) {
    const T visit = piecewise(*of.knots, parameter + 1, coordinate(step, of.machine));
    return parameter[0] + step.visits() * visit;
  }
};

}  // namespace gpucast::model

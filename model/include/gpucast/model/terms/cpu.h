// linear, the paper's equation (2): T_cpu = t_cpu n. The host integrates every particle once.
#pragma once

#include "gpucast/model/term.h"

namespace gpucast::model {

struct Linear {
  static constexpr TermInfo info{.name = "linear", .summary = "in proportion to n"};

  static std::vector<Parameter> parameters() {
    return {{"t_cpu", "s", "host time a particle", plausible_host_particle}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    return step.n * parameter[0];
  }
};

// affine: T_cpu = t_cpu_0 + t_cpu n, for hosts with a fixed time per step.

struct Affine {
  static constexpr TermInfo info{
      .name = "affine", .summary = "a fixed cost a step and n", .tried = Tried::by_name};

  static std::vector<Parameter> parameters() {
    return {{"t_cpu", "s", "host time a particle", plausible_host_particle},
            {"t_cpu_0", "s", "host time a step, any n", plausible_host_step}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    return step.n * parameter[0] + parameter[1];
  }
};

// bent: a fixed time per step, and particles that take longer once caches no longer hold them:
//
//     T_cpu = t_step + n t_cpu (1 + r n / (n + n_c))
//
// As long as all particles stay in cache from one step to the next, each takes t_cpu; of n
// particles in a cache of about n_c, a share n / (n + n_c) has to come from beyond it and takes r
// t_cpu more, so that far beyond n_c a particle takes (1 + r) t_cpu.

struct Bent {
  static constexpr TermInfo info{.name = "bent",
                                 .summary = "a fixed cost a step and n, dearer beyond a cache",
                                 .linear = false};

  static std::vector<Parameter> parameters() {
    return {{"t_step", "s", "host time a step, any n", plausible_host_step},
            {"t_cpu", "s", "host time a particle that a cache holds", plausible_host_particle},
            {"r", "", "how much more a particle takes from beyond the cache", plausible_growth},
            {"n_c", "", "particles that a cache holds", plausible_cache}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    const T beyond = step.n / (step.n + parameter[3]);
    return parameter[0] + step.n * parameter[1] * (1.0 + parameter[2] * beyond);
  }
};

// none: T_cpu = 0, for schedules in which the particles stay on the GPUs from step to step, so that
// the host only launches.

struct None {
  static constexpr TermInfo info{
      .name = "none", .summary = "no host work in a step", .tried = Tried::by_name};

  static std::vector<Parameter> parameters() { return {}; }

  template <class T>
  static T seconds(const T* /*parameter*/, const Step& /*step*/, const Structure& /*of*/) {
    return T(0.0);
  }
};

}  // namespace gpucast::model

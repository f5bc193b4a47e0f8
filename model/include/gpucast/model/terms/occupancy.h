// occupancy: whole blocks on the busiest multiprocessor, with a latency floor.
//
//     T_gpu = t_0 + n (t_lat^p + (w t_blk)^p)^(1/p)        w: blocks.h
//
// For each of the n particles visited, the busiest multiprocessor needs w t_blk when its issue
// slots limit it, and t_lat when too few warps are resident to hide the latency of one interaction.
// The p-norm joins the two regimes: p -> infinity is a sharp maximum, p = 1 adds them. t_0 is what
// the kernel costs before its loop. The larger of the two is factored out, so that powers neither
// overflow nor underflow.
#pragma once

#include <cmath>

#include "gpucast/model/blocks.h"

namespace gpucast::model {

struct Occupancy {
  static constexpr TermInfo info{.name = "occupancy",
                                 .summary = "blocks on the busiest multiprocessor, or its latency",
                                 .needs = facts_of_blocks,
                                 .integer = "p",
                                 .constant = true,
                                 .linear = false};

  static std::vector<Parameter> parameters(const std::vector<double>& /*knots*/) {
    return {{"t_0", "s", "start-up of the kernel"},
            {"t_lat", "s", "time of one visited particle when latency-bound"},
            {"t_blk", "s", "time of one visited particle for each resident block"}};
  }

  static std::vector<int> integers(int /*largest_k*/) { return {1, 2, 4, 8}; }

  // With p = 1 the two regimes are added, which is linear.
  static constexpr bool is_linear(int p) { return p == 1; }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& of) {
    using std::pow;
    const T& t_0 = parameter[0];
    const T& t_lat = parameter[1];
    const T issue = blocks_on_busiest(step, of.machine) * parameter[2];
    if (of.integer == 1 || of.linear) {
      return t_0 + step.visits() * (t_lat + issue);
    }
    const bool issue_bound = issue > t_lat;
    const T& larger = issue_bound ? issue : t_lat;
    const T& smaller = issue_bound ? t_lat : issue;
    const double p = of.integer;
    return t_0 + step.visits() * larger * pow(1.0 + pow(smaller / larger, p), 1.0 / p);
  }
};

}  // namespace gpucast::model

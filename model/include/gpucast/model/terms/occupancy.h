// occupancy: whole blocks on the busiest multiprocessor, with a latency floor.
//
//     T_gpu = t_0 + n (t_lat^p + (w t_blk)^p)^(1/p)        w: below
//
// For each of the n particles visited, the busiest multiprocessor needs w t_blk when its issue
// slots limit it, and t_lat when too few warps are resident to hide the latency of one interaction.
// The p-norm joins the two regimes: p -> infinity is a sharp maximum, p = 1 adds them. These are
// the bounds of what can be: f(w) = T_gpu / n is convex, so that it lies above its last slope (p =
// 1), and w blocks never take longer than w times one (p -> infinity). p is a number like any
// other; kernels that were timed with three blocks and more have 2.5 to 3.3. Values below 1 count
// as 1, values above 12, where the norm is within 6 % of the maximum, as 12.
//
// t_0 is the kernel's time before its loop. The larger of the two is factored out, so that powers
// neither overflow nor underflow.
#pragma once

#include <cmath>

#include "gpucast/model/term.h"

namespace gpucast::model {

inline constexpr Fact facts_of_blocks[] = {sms, block};

// Blocks on the busiest multiprocessor:
//
//     w = ceil(ceil(ceil(n / N) / b) / s)
//
// A GPU's ceil(n / N) particles fill blocks of b threads; the busiest of s multiprocessors gets w
// of them and runs them together.
inline double blocks_on_busiest(const Step& step, const Machine& machine) {
  return std::ceil(std::ceil(step.share() / machine.block) / machine.sms);
}

struct Occupancy {
  static constexpr TermInfo info{.name = "occupancy",
                                 .summary = "blocks on the busiest multiprocessor, or its latency",
                                 .needs = facts_of_blocks,
                                 .constant = true,
                                 .linear = false};

  static std::vector<Parameter> parameters() {
    return {{"t_0", "s", "start-up of the kernel", plausible_start_up},
            {"t_lat", "s", "time of one visited particle when latency-bound"},
            {"t_blk", "s", "time of one visited particle for each resident block"},
            {"p", "", "how sharply one regime takes over from the other", plausible_sharpness}};
  }

  // Exponents that are told apart.
  static constexpr double smallest = 1;
  static constexpr double largest = 12;

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& structure) {
    using std::pow;
    const T& t_0 = parameter[0];
    const T& t_lat = parameter[1];
    const T issue = blocks_on_busiest(step, structure.machine) * parameter[2];
    const T& p = parameter[3];
    if (structure.linear || !(p > smallest)) return t_0 + step.visits() * (t_lat + issue);
    const bool issue_bound = issue > t_lat;
    const T& larger = issue_bound ? issue : t_lat;
    const T& smaller = issue_bound ? t_lat : issue;
    const T exponent = p < largest ? p : T(largest);
    const T ratio = smaller / larger;
    return t_0 + step.visits() * larger * pow(1.0 + pow(ratio, exponent), 1.0 / exponent);
  }
};

}  // namespace gpucast::model

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

// work: kernels that split the sum over j into parts for several blocks keep a GPU busy at any n;
// what is left is a start-up time and work in proportion to the interactions of the largest share,
//
//     T_gpu = t_0 + m t_pair + sqrt(m) t_root        m = ceil(n / N) n
//
// with a part that fades. Were it not for the third term, the rate m / T_gpu would be at its limit
// 1 / t_pair as soon as the start-up no longer counts; measured rates of such kernels grow long
// beyond that, because the last blocks of a launch, the filling of pipelines and the sums over
// parts keep a share of the GPU idle that falls as the work grows. A share in proportion to 1 /
// sqrt(m) describes them from 10^6 to 10^11 interactions. With t_root = 0 this is a straight line
// in m.

struct Work {
  static constexpr TermInfo info{
      .name = "work", .summary = "the work of the largest share, and its root", .constant = true};

  static std::vector<Parameter> parameters() {
    return {{"t_0", "s", "start-up of the kernel", plausible_start_up},
            {"t_pair", "s", "time of one interaction on one GPU"},
            {"t_root", "s", "time that grows with the root of the interactions", plausible_root}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    const double work = step.work();
    return parameter[0] + work * parameter[1] + std::sqrt(work) * parameter[2];
  }
};

// neighbours: domain decomposition with interactions of short range. A GPU computes for the
// elements that it owns, whose number of neighbours does not depend on n:
//
//     T_gpu = t_0 + (n / N) t_own
//
// t_0 is the time of kernels and synchronisation however little there is to compute: with few
// elements a GPU is not full, and the time of a step is constant.

struct Neighbours {
  static constexpr TermInfo info{.name = "neighbours",
                                 .summary = "in proportion to the elements that a GPU owns",
                                 .constant = true,
                                 .tried = Tried::decomposed};

  static std::vector<Parameter> parameters() {
    return {{"t_0", "s", "start-up of the kernels of a step", plausible_start_up},
            {"t_own", "s", "time of one owned element on one GPU"}};
  }

  template <class T>
  static T seconds(const T* parameter, const Step& step, const Structure& /*of*/) {
    return parameter[0] + step.n / step.gpus * parameter[1];
  }
};

}  // namespace gpucast::model

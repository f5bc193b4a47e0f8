// T_gpu: the time that N GPUs, working side by side, need for one evaluation of n x n interactions.
//
// Every term shares the work as the programs do: GPU g computes the forces on its ceil(n / N)
// particles from all n particles, so a term sees n, N and its parameters only.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "gpucast/model/machine.h"
#include "gpucast/model/parameter.h"

namespace gpucast::model {

enum class GpuTerm { wave, occupancy, work };

inline constexpr GpuTerm all_gpu_terms[] = {GpuTerm::wave, GpuTerm::occupancy, GpuTerm::work};

// A term may hold one structural integer besides its continuous parameters. The time is not
// differentiable in it, so a fit enumerates it. wave: k. occupancy: p. work: none.
constexpr std::string_view structural_integer(GpuTerm term) {
  switch (term) {
    case GpuTerm::wave:
      return "k";
    case GpuTerm::occupancy:
      return "p";
    case GpuTerm::work:
      return "";
  }
  return "";
}

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
template <class T>
T wave_time(const T& t_gpu, double n, double gpus, double k, double cores) {
  const double threads = k * cores;
  return std::ceil(n / (threads * gpus)) * n * threads * t_gpu;
}

// occupancy: whole blocks on the busiest multiprocessor, with a latency floor.
//
//     w     = ceil(ceil(ceil(n / N) / b) / s)
//     T_gpu = t_0 + n (t_lat^p + (w t_blk)^p)^(1/p)
//
// A GPU's ceil(n / N) particles fill blocks of b threads; the busiest of s multiprocessors gets w
// of them and runs them together. For each of the n particles visited, the multiprocessor needs
// w t_blk when its issue slots limit it, and t_lat when too few warps are resident to hide the
// latency of one interaction. The p-norm joins the two regimes: p -> infinity is a sharp maximum,
// p = 1 adds them. t_0 is what the kernel costs before its loop. Larger of the two terms factored
// out, so that powers neither overflow nor underflow.
template <class T>
T occupancy_time(const T& t_0, const T& t_lat, const T& t_blk, double n, double gpus, int p,
                 const Machine& machine) {
  using std::pow;
  const double share = std::ceil(n / gpus);
  const double blocks = std::ceil(std::ceil(share / machine.block) / machine.sms);
  const T issue = blocks * t_blk;
  if (p == 1) {
    return t_0 + n * (t_lat + issue);
  }
  const bool issue_bound = issue > t_lat;
  const T& larger = issue_bound ? issue : t_lat;
  const T& smaller = issue_bound ? t_lat : issue;
  const double exponent = p;
  return t_0 + n * larger * pow(1.0 + pow(smaller / larger, exponent), 1.0 / exponent);
}

// work: kernels that split j over blocks keep a GPU busy at any n; what is left is a start-up time
// and work in proportion to the pairs of the largest share:
//
//     T_gpu = t_0 + ceil(n / N) * n * t_pair
template <class T>
T work_time(const T& t_0, const T& t_pair, double n, double gpus) {
  return t_0 + std::ceil(n / gpus) * n * t_pair;
}

inline std::vector<Parameter> parameters(GpuTerm term) {
  switch (term) {
    case GpuTerm::wave:
      return {{"t_gpu", "s", "time of one interaction at a GPU's full rate"}};
    case GpuTerm::occupancy:
      return {{"t_0", "s", "start-up of the kernel"},
              {"t_lat", "s", "time of one visited particle when latency-bound"},
              {"t_blk", "s", "time of one visited particle for each resident block"}};
    case GpuTerm::work:
      return {{"t_0", "s", "start-up of the kernel"},
              {"t_pair", "s", "time of one interaction on one GPU"}};
  }
  throw std::invalid_argument("unknown GPU term");
}

// `integer` is the term's structural integer (ignored by `work`).
template <class T>
T gpu_time(GpuTerm term, const T* parameter, double n, double gpus, int integer,
           const Machine& machine) {
  switch (term) {
    case GpuTerm::wave:
      return wave_time(parameter[0], n, gpus, integer, machine.cores);
    case GpuTerm::occupancy:
      return occupancy_time(parameter[0], parameter[1], parameter[2], n, gpus, integer, machine);
    case GpuTerm::work:
      return work_time(parameter[0], parameter[1], n, gpus);
  }
  throw std::invalid_argument("unknown GPU term");
}

// Why a term cannot be used with what is known of the machine; empty if it can.
inline std::string_view missing_fact(GpuTerm term, const Machine& machine) {
  if (term == GpuTerm::wave && !(machine.cores > 0)) {
    return "GPU term 'wave' needs the number of cores of a GPU";
  }
  if (term == GpuTerm::occupancy && (!(machine.sms > 0) || !(machine.block > 0))) {
    return "GPU term 'occupancy' needs the number of multiprocessors and the threads a block";
  }
  return {};
}

}  // namespace gpucast::model

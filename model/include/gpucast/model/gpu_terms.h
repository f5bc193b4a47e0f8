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
#include "gpucast/model/piecewise.h"

namespace gpucast::model {

enum class GpuTerm { wave, occupancy, work, residency, pairs };

inline constexpr GpuTerm all_gpu_terms[] = {GpuTerm::wave, GpuTerm::occupancy, GpuTerm::work,
                                            GpuTerm::residency, GpuTerm::pairs};

// A term may hold one structural integer besides its continuous parameters. The time is not
// differentiable in it, so a fit enumerates it. wave: k. occupancy: p. The others: none.
constexpr std::string_view structural_integer(GpuTerm term) {
  switch (term) {
    case GpuTerm::wave:
      return "k";
    case GpuTerm::occupancy:
      return "p";
    case GpuTerm::work:
    case GpuTerm::residency:
    case GpuTerm::pairs:
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
// of them (blocks_on_busiest) and runs them together. For each of the n particles visited, the
// multiprocessor needs w t_blk when its issue slots limit it, and t_lat when too few warps are
// resident to hide the latency of one interaction. The p-norm joins the two regimes: p -> infinity
// is a sharp maximum, p = 1 adds them. t_0 is what the kernel costs before its loop. Larger of the
// two terms factored out, so that powers neither overflow nor underflow.
inline double blocks_on_busiest(double n, double gpus, const Machine& machine) {
  const double share = std::ceil(n / gpus);
  return std::ceil(std::ceil(share / machine.block) / machine.sms);
}

template <class T>
T occupancy_time(const T& t_0, const T& t_lat, const T& t_blk, double n, double gpus, int p,
                 const Machine& machine) {
  using std::pow;
  const T issue = blocks_on_busiest(n, gpus, machine) * t_blk;
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

// residency, pairs: kernels whose speed depends on how full they make a GPU, in a way that no short
// formula has. The kernel's time is a chain of straight pieces (piecewise.h), found from the data
// like a transfer curve, over the one number that decides how full the GPU is:
//
//     residency:  T_gpu = t_0 + n f(w)    w blocks on the busiest multiprocessor, as above
//     pairs:      T_gpu = t_0 + f(m)      m = ceil(n / N) n pairs of the largest share
//
// with f(0) = 0 and slopes of at least 0. residency is for a thread a particle: f(w) is the time of
// one visited particle with w blocks resident, all that a kernel's latency, issue slots and limits
// of residency make of it; GPU counts that share out w blocks cost what one GPU with w blocks does.
// pairs is for kernels that split j over blocks, whose rate grows with the work: work is its
// special case of one piece.
inline double gpu_coordinate(GpuTerm term, double n, double gpus, const Machine& machine) {
  return term == GpuTerm::residency ? blocks_on_busiest(n, gpus, machine) : std::ceil(n / gpus) * n;
}

template <class T>
T chained_time(GpuTerm term, const T* parameter, double n, double gpus,
               const std::vector<double>& breakpoints, const Machine& machine) {
  const T chain = piecewise(breakpoints, parameter + 1, gpu_coordinate(term, n, gpus, machine));
  return parameter[0] + (term == GpuTerm::residency ? n : 1.0) * chain;
}

constexpr bool is_chained(GpuTerm term) {
  return term == GpuTerm::residency || term == GpuTerm::pairs;
}

// Whether the time is a sum of parameters times what does not depend on them.
constexpr bool is_linear(GpuTerm term, int integer) {
  return term != GpuTerm::occupancy || integer == 1;
}

// `breakpoints`: of the chained terms; the others have none.
inline std::vector<Parameter> parameters(GpuTerm term, const std::vector<double>& breakpoints) {
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
    case GpuTerm::residency:
      return chain_parameters({"t_0", "s", "start-up of the kernel"},
                              {"t_blk", "s", "time of one visited particle for each further block"},
                              breakpoints);
    case GpuTerm::pairs:
      return chain_parameters({"t_0", "s", "start-up of the kernel"},
                              {"t_pair", "s", "time of one more interaction on one GPU"},
                              breakpoints);
  }
  throw std::invalid_argument("unknown GPU term");
}

// `integer` is the term's structural integer; terms that have none ignore it.
template <class T>
T gpu_time(GpuTerm term, const T* parameter, double n, double gpus, int integer,
           const std::vector<double>& breakpoints, const Machine& machine) {
  switch (term) {
    case GpuTerm::wave:
      return wave_time(parameter[0], n, gpus, integer, machine.cores);
    case GpuTerm::occupancy:
      return occupancy_time(parameter[0], parameter[1], parameter[2], n, gpus, integer, machine);
    case GpuTerm::work:
      return work_time(parameter[0], parameter[1], n, gpus);
    case GpuTerm::residency:
    case GpuTerm::pairs:
      return chained_time(term, parameter, n, gpus, breakpoints, machine);
  }
  throw std::invalid_argument("unknown GPU term");
}

// Why a term cannot be used with what is known of the machine; empty if it can.
inline std::string_view missing_fact(GpuTerm term, const Machine& machine) {
  if (term == GpuTerm::wave && !(machine.cores > 0)) {
    return "GPU term 'wave' needs the number of cores of a GPU";
  }
  if (!(machine.sms > 0) || !(machine.block > 0)) {
    if (term == GpuTerm::occupancy) {
      return "GPU term 'occupancy' needs the number of multiprocessors and the threads a block";
    }
    if (term == GpuTerm::residency) {
      return "GPU term 'residency' needs the number of multiprocessors and the threads a block";
    }
  }
  return {};
}

}  // namespace gpucast::model

// The three parts of a step time T = T_gpu + T_cpu + T_com, each given by a term: the time that N
// GPUs need side by side for a step's work; the host's computation; and the additional time for
// transfers and kernel launches.
//
// The catalogue: every term that there is. The order is that of tables and of the search for a
// model; the first communication term of a schedule is its plain form.
#pragma once

#include <variant>

#include "gpucast/model/terms/com.h"
#include "gpucast/model/terms/cpu.h"
#include "gpucast/model/terms/gpu.h"

namespace gpucast::model {

using GpuTerm = std::variant<Wave, Occupancy, Work, Neighbours>;
using CpuTerm = std::variant<Linear, Affine, Bent, None>;
using ComTerm = std::variant<StarSerial, StarAsync, Allgather, Mpi, StarSerialPoll, StarAsyncPoll,
                             StarAsyncTurns, AllgatherQueue, Halo, StarSerialHide, StarAsyncQueue,
                             AllgatherOnce>;

// A GPU or CPU term has
//
//     static std::vector<Parameter> parameters();
//     template <class T>
//     static T seconds(const T* parameter, const Step& step, const Structure& of);
//
// A CPU term uses only the n of a step. A GPU term may have `integers(largest_k)`, the structural
// integers to try.
inline constexpr auto all_gpu_terms = all_terms<GpuTerm>;
inline constexpr auto all_cpu_terms = all_terms<CpuTerm>;

// A communication term has
//
//     static constexpr Route routes[];            // whose transfer curves it evaluates
//     static std::vector<Parameter> parameters();  // its own, beside those of its curves
//     template <class T, class Curves>
//     static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step);
//
// The first parameter is t_kernel, the host's time for one launch. `curve(route, bytes)` is the
// time of a single transfer on its route. `info.schedule` is the schedule that the term describes;
// empty for programs without one.
inline constexpr auto all_com_terms = all_terms<ComTerm>;

template <class... Terms>
std::vector<Parameter> parameters(const std::variant<Terms...>& term) {
  return std::visit([](auto which) { return which.parameters(); }, term);
}

// T_gpu of a GPU term, T_cpu of a CPU term.
template <class Term, class T>
T term_time(const Term& term, const T* parameter, const Step& step, const Structure& structure) {
  return std::visit([&](auto which) { return which.seconds(parameter, step, structure); }, term);
}

template <class T, class Curves>
T com_time(const ComTerm& term, const T* parameter, const Curves& curve, const Step& step,
           const T& t_gpu, bool linear = false) {
  const ComStep<T> at{step, t_gpu, linear};
  return std::visit([&](auto which) { return which.seconds(parameter, curve, at); }, term);
}

inline std::vector<Route> routes(const ComTerm& term) {
  return std::visit(
      [](auto which) {
        return std::vector<Route>(std::begin(which.routes), std::end(which.routes));
      },
      term);
}

// Structural integers for a fit to try; one where the term has none.
inline std::vector<int> integers(const GpuTerm& term, int largest_k) {
  std::vector<int> result{1};
  std::visit(
      [&](auto which) {
        if constexpr (requires { which.integers(largest_k); }) result = which.integers(largest_k);
      },
      term);
  return result;
}

}  // namespace gpucast::model

// T_com: what a step spends on transfers and kernel launches, beyond T_gpu + T_cpu.
#pragma once

#include <variant>
#include <vector>

#include "gpucast/model/catalogue.h"
#include "gpucast/model/parameter.h"
#include "gpucast/model/routes.h"
#include "gpucast/model/step.h"
#include "gpucast/model/term.h"

namespace gpucast::model {

// A communication term has
//
//     static constexpr Route routes[];            // whose transfer curves it evaluates
//     static std::vector<Parameter> parameters();  // its own, beside those of its curves
//     template <class T, class Curves>
//     static T seconds(const T* parameter, const Curves& curve, const Step& step, const T& t_gpu,
//                      bool linear);
//
// The first parameter is t_kernel, the host's time for one launch. `curve(route, bytes)` is the
// time of one transfer alone on its route, `t_gpu` is T_gpu of the same step. `linear`: leave out
// what makes a time other than linear in its parameters, where start values are looked for.
// `info.schedule` is the schedule that the term describes; empty for programs that have none.
inline constexpr auto all_com_terms = all_terms<ComTerm>;

inline std::vector<Route> routes(const ComTerm& term) {
  return std::visit(
      [](auto which) {
        return std::vector<Route>(std::begin(which.routes), std::end(which.routes));
      },
      term);
}

inline std::vector<Parameter> parameters(const ComTerm& term) {
  return std::visit([](auto which) { return which.parameters(); }, term);
}

template <class T, class Curves>
T com_time(const ComTerm& term, const T* parameter, const Curves& curve, const Step& step,
           const T& t_gpu, bool linear = false) {
  return std::visit(
      [&](auto which) { return which.seconds(parameter, curve, step, t_gpu, linear); }, term);
}

}  // namespace gpucast::model

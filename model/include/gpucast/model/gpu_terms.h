// T_gpu: the time that N GPUs, working side by side, need for one step's work.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gpucast/model/catalogue.h"
#include "gpucast/model/parameter.h"
#include "gpucast/model/step.h"
#include "gpucast/model/term.h"

namespace gpucast::model {

// A GPU term has
//
//     static std::vector<Parameter> parameters(const std::vector<double>& knots);
//     template <class T>
//     static T seconds(const T* parameter, const Step& step, const Structure& of);
//
// and, where they apply: `integers(largest_k)`, the structural integers to try;
// `is_linear(integer)` if that depends on the integer; `coordinate(step, machine)`, what its
// straight pieces are over.
inline constexpr auto all_gpu_terms = all_terms<GpuTerm>;

inline std::vector<Parameter> parameters(const GpuTerm& term, const std::vector<double>& knots) {
  return std::visit([&](auto which) { return which.parameters(knots); }, term);
}

template <class T>
T gpu_time(const GpuTerm& term, const T* parameter, const Step& step, const Structure& of) {
  return std::visit([&](auto which) { return which.seconds(parameter, step, of); }, term);
}

// Structural integers for a fit to try; one where the term has none.
inline std::vector<int> integers(const GpuTerm& term, int largest_k) {
  return std::visit(
      [&](auto which) -> std::vector<int> {
        if constexpr (requires { which.integers(largest_k); }) {
          return which.integers(largest_k);
        } else {
          return {1};
        }
      },
      term);
}

// Whether the time is a sum of parameters times what does not depend on them.
inline bool is_linear(const GpuTerm& term, int integer) {
  return std::visit(
      [&](auto which) {
        if constexpr (requires { which.is_linear(integer); }) {
          return which.is_linear(integer);
        } else {
          return decltype(which)::info.linear;
        }
      },
      term);
}

// What a term's straight pieces are over; nothing for a term that has none.
inline std::optional<double> coordinate(const GpuTerm& term, const Step& step,
                                        const Machine& machine) {
  return std::visit(
      [&](auto which) -> std::optional<double> {
        if constexpr (requires { which.coordinate(step, machine); }) {
          return which.coordinate(step, machine);
        } else {
          return std::nullopt;
        }
      },
      term);
}

}  // namespace gpucast::model

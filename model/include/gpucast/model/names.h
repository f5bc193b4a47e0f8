// The words of command lines and files for routes, and what they name.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "gpucast/model/routes.h"
#include "gpucast/model/term.h"

namespace gpucast::model {

using schema::name;  // of a route

// The member of `all` (for example all_gpu_terms) that goes by `word`.
template <class Range>
constexpr auto named(const Range& all, std::string_view word)
    -> std::optional<std::decay_t<decltype(*std::begin(all))>> {
  for (const auto& member : all) {
    if (name(member) == word) {
      return member;
    }
  }
  return std::nullopt;
}

}  // namespace gpucast::model

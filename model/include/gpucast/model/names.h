// The words of command lines and files for routes, and what they name.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "gpucast/model/routes.h"
#include "gpucast/model/term.h"

namespace gpucast::model {

constexpr std::string_view name(Route route) {
  switch (route) {
    case Route::h2d:
      return "h2d";
    case Route::d2h:
      return "d2h";
    case Route::peer:
      return "peer";
    case Route::staged:
      return "staged";
    case Route::local:
      return "local";
    case Route::net:
      return "net";
  }
  return "";
}

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

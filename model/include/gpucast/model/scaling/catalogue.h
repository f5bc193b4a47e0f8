// The catalogue of scaling terms, a line a term. The order is that of tables; a form names its
// terms by their place in it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "gpucast/model/scaling/terms/crossing.h"
#include "gpucast/model/scaling/terms/dedicated.h"
#include "gpucast/model/scaling/terms/edges.h"
#include "gpucast/model/scaling/terms/filling.h"
#include "gpucast/model/scaling/terms/gather.h"
#include "gpucast/model/scaling/terms/halo.h"
#include "gpucast/model/scaling/terms/host.h"
#include "gpucast/model/scaling/terms/imbalance.h"
#include "gpucast/model/scaling/terms/jitter.h"
#include "gpucast/model/scaling/terms/local.h"
#include "gpucast/model/scaling/terms/neighbours.h"
#include "gpucast/model/scaling/terms/network.h"
#include "gpucast/model/scaling/terms/reduction.h"
#include "gpucast/model/scaling/terms/ring.h"
#include "gpucast/model/scaling/terms/several.h"
#include "gpucast/model/scaling/terms/shared.h"
#include "gpucast/model/scaling/terms/shell.h"
#include "gpucast/model/scaling/terms/stages.h"
#include "gpucast/model/scaling/terms/start.h"
#include "gpucast/model/scaling/terms/thread.h"
#include "gpucast/model/scaling/terms/transpose.h"
#include "gpucast/model/scaling/terms/uneven.h"
#include "gpucast/model/scaling/terms/whole.h"
#include "gpucast/model/scaling/terms/work.h"

namespace gpucast::model::scaling {

// A term of the catalogue as values, for code that is given its terms by data.
struct Term {
  TermInfo info;
  double (*shape)(const Scale&) = nullptr;
  bool (*offered)(const Extent&) = nullptr;
};

template <class... Terms>
constexpr std::array<Term, sizeof...(Terms)> catalogue_of() {
  return {Term{Terms::info, &Terms::shape, &Terms::offered}...};
}

// clang-format off
inline constexpr auto terms = catalogue_of<
    Work,
    Dedicated,
    Whole,
    Local,
    Start,
    Filling,
    Thread,
    Shared,
    Imbalance,
    Uneven,
    Jitter,
    Halo,
    Shell,
    Edges,
    Stages,
    Neighbours,
    Several,
    Reduction,
    Ring,
    Transpose,
    Crossing,
    Network,
    Host,
    Gather>();
// clang-format on

constexpr std::optional<std::size_t> term_named(std::string_view name) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].info.name == name) return i;
  }
  return std::nullopt;
}

}  // namespace gpucast::model::scaling

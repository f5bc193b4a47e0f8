// The words of command lines and files for the enumerations, in one place.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "gpucast/model/com_terms.h"
#include "gpucast/model/cpu_terms.h"
#include "gpucast/model/gpu_terms.h"
#include "gpucast/model/routes.h"

namespace gpucast::model {

constexpr std::string_view name(GpuTerm term) {
  switch (term) {
    case GpuTerm::wave:
      return "wave";
    case GpuTerm::occupancy:
      return "occupancy";
    case GpuTerm::work:
      return "work";
    case GpuTerm::residency:
      return "residency";
    case GpuTerm::pairs:
      return "pairs";
  }
  return "";
}

constexpr std::string_view name(CpuTerm term) {
  switch (term) {
    case CpuTerm::linear:
      return "linear";
    case CpuTerm::affine:
      return "affine";
    case CpuTerm::cached:
      return "cached";
  }
  return "";
}

constexpr std::string_view name(ComTerm term) {
  switch (term) {
    case ComTerm::star_serial:
      return "star-serial";
    case ComTerm::star_async:
      return "star-async";
    case ComTerm::allgather:
      return "allgather";
    case ComTerm::mpi:
      return "mpi";
    case ComTerm::star_serial_poll:
      return "star-serial-poll";
    case ComTerm::star_async_poll:
      return "star-async-poll";
    case ComTerm::star_async_turns:
      return "star-async-turns";
    case ComTerm::allgather_queue:
      return "allgather-queue";
  }
  return "";
}

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

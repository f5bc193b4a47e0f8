// The description that every model term gives of itself.
//
// A term is a struct without data in a file of its own under terms/, and a line in catalogue.h. It
// has
//
//     static constexpr TermInfo info;
//     static std::vector<Parameter> parameters();
//     template <class T> static T seconds(const T* parameter, ...);
//
// with the signatures of its kind (terms.h). Names, dispatch, the candidates of a fit, Python's
// tables and the check of the reference page follow from these.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpucast/model/parameter.h"
#include "gpucast/model/step.h"

namespace gpucast::model {

// When `--model auto` tries a term (a communication term: of the steps' schedule).
enum class Tried {
  always,
  decomposed,  // for steps whose workload is not all-pairs
  by_name      // only if a form names it, like the paper's
};

struct TermInfo {
  std::string_view name;          // the word of command lines and files
  std::string_view summary;       // one line
  std::span<const Fact> needs{};  // facts of the machine
  std::string_view integer{};     // letter of the structural integer that a fit enumerates
  bool constant = false;          // the first parameter is a time that every step pays
  bool linear = true;             // the time is a sum of linear coordinates (parameter.h)
  Tried tried = Tried::always;
  std::string_view schedule{};  // communication terms: the schedule that they describe
  bool sees_ticks = false;      // communication terms: the time oscillates with T_gpu (poll.h)
};

// Structural constants of a term in a model, and how to evaluate it.
struct Structure {
  Machine machine{};
  int integer = 1;      // at least 1; terms without a structural integer ignore it
  bool linear = false;  // leave out everything that is not linear in the parameters
};

// A catalogue is a variant of its terms; the following depends only on its list of alternatives.
template <class Term>
const TermInfo& info(const Term& term) {
  return std::visit([](auto which) -> const TermInfo& { return decltype(which)::info; }, term);
}

template <class... Terms>
constexpr std::array<std::variant<Terms...>, sizeof...(Terms)> every(
    const std::variant<Terms...>* /*catalogue*/) {
  return {Terms{}...};
}

// All terms of a catalogue, in its order.
template <class Catalogue>
inline constexpr auto all_terms = every(static_cast<const Catalogue*>(nullptr));

template <class... Terms>
std::string_view name(const std::variant<Terms...>& term) {
  return info(term).name;
}

// Returns the member of `all` (all_gpu_terms, all_routes, ...) with the name `word`.
template <class Range>
constexpr auto named(const Range& all, std::string_view word)
    -> std::optional<std::decay_t<decltype(*std::begin(all))>> {
  const auto* const place =
      std::ranges::find_if(all, [&](const auto& member) { return name(member) == word; });
  return place == std::end(all) ? std::nullopt : std::optional(*place);
}

// Why a term cannot be used with the known facts of the machine; empty if it can.
template <class Term>
std::string missing_fact(const Term& term, const Machine& machine) {
  const TermInfo& about = info(term);
  bool missing = false;
  std::string needed;
  for (const Fact& fact : about.needs) {
    missing = missing || !(machine.*fact.count > 0);
    needed.append(needed.empty() ? "" : " and ").append(fact.phrase);
  }
  return missing ? "term '" + std::string(about.name) + "' needs " + needed : "";
}

}  // namespace gpucast::model

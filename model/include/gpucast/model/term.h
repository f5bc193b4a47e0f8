// A term of the model: its arguments, its parameters, and the description that it gives of itself.
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

#include "gpucast/model/workload.h"

namespace gpucast::model {

// A count of 0 means "unknown"; terms that need it cannot be used then.
struct Machine {
  double cores = 0;  // c: FP32 lanes of one GPU
  double sms = 0;    // s: multiprocessors of one GPU
  double block = 0;  // threads a block in the timed kernel
};

// A count that a term may need.
struct Fact {
  double Machine::* count;
  std::string_view name;
  std::string_view phrase;  // for messages
};

inline constexpr Fact cores{&Machine::cores, "cores", "the number of cores of a GPU"};
inline constexpr Fact sms{&Machine::sms, "sms", "the number of multiprocessors"};
inline constexpr Fact block{&Machine::block, "block", "the threads a block"};

struct Step {
  double n = 0;
  double gpus = 0;  // N; 0 for the host's part alone
  const Workload* workload = &all_pairs;

  // Elements of the GPU that has the most.
  double share() const { return std::ceil(n / gpus); }

  // Units of work per element of a share, and of the GPU with the most.
  double visits() const { return workload->visits(n, gpus); }
  double work() const { return workload->work(n, gpus); }

  double bytes_in() const { return workload->to_gpu(n, gpus); }     // to each GPU
  double bytes_out() const { return workload->from_gpu(n, gpus); }  // from each GPU
};

// Additional arguments of a communication term.
template <class T>
struct ComStep : Step {
  const T& t_gpu;       // T_gpu of the same step
  bool linear = false;  // leave out everything that is not linear in the parameters
};

// A model parameter as an object: name, unit, meaning, prior, and the coordinate in which times are
// linear in it.

// The prior distribution of a parameter: its logarithm is normal about that of the median. Both
// refer to the parameter itself, even for a throughput, and never to its reciprocal.
struct Prior {
  double median = 0;  // in the parameter's unit; 0: unknown, the data set the scale
  double log_sd = 2;  // standard deviation of the natural logarithm

  friend bool operator==(const Prior&, const Prior&) = default;
};

// Every parameter is positive. Step and transfer times are (almost) linear in the *linear
// coordinate* of each: the parameter itself, or its reciprocal for a throughput (a time per byte).
// Start values, rank and identifiable combinations are computed in linear coordinates; reports use
// the parameters.
struct Parameter {
  std::string name;         // the paper's symbol, for example "t_gpu" or "B_h2d"
  std::string unit;         // SI: "s" or "B/s"; empty: a pure number
  std::string meaning;      // one line for tables and help
  Prior prior{};            // of the value
  bool reciprocal = false;  // true: the linear coordinate is 1/value

  // A share, an exponent or a size: times are not linear in it together with the others. Its prior
  // has a median, where searches begin.
  bool is_ratio() const { return unit.empty(); }

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// Value in linear coordinates, and back (the map is its own inverse).
inline double linear_coordinate(const Parameter& parameter, double value) {
  return parameter.reciprocal ? 1.0 / value : value;
}

// Priors of parameters that several terms share.
//
// Medians are those of GPUs and hosts of the 2010s and 2020s; the widths cover others: a log_sd of
// 1 is a factor of 5 up or down with 90 %, one of 2 a factor of 27. They matter where the data
// contain little information, and keep forecasts within what machines do. They come from a study of
// accuracy on data of H200 machines; times of pieces of work depend on the program, so that the
// data set their scale.

// GPU
inline constexpr Prior plausible_start_up{.median = 6e-6, .log_sd = 1};  // s, a kernel's
inline constexpr Prior plausible_sharpness{.median = 3, .log_sd = 0.5};  // p of occupancy.h
inline constexpr Prior plausible_root{.median = 0, .log_sd = 1.5};       // t_root of work.h

// Host
inline constexpr Prior plausible_host_particle{.median = 8e-9, .log_sd = 1.5};  // s
inline constexpr Prior plausible_host_step{.median = 5e-7, .log_sd = 1.5};      // s
inline constexpr Prior plausible_growth{.median = 1, .log_sd = 0.5};            // r of bent.h
inline constexpr Prior plausible_cache{.median = 1e5, .log_sd = 0.7};           // n_c of bent.h

// Communication: 1 us and 400 GB/s on a board, 80 us and 0.5 GB/s over the paper's network
inline constexpr Prior plausible_launch{.median = 3e-6, .log_sd = 1};         // s
inline constexpr Prior plausible_queueing{.median = 6e-6, .log_sd = 0.9};     // s, two launches
inline constexpr Prior plausible_latency{.median = 1e-5, .log_sd = 1.5};      // s
inline constexpr Prior plausible_throughput{.median = 1.5e10, .log_sd = 2};   // B/s
inline constexpr Prior plausible_shared_host{.median = 3e10, .log_sd = 1.2};  // B/s
inline constexpr Prior plausible_share{.median = 0.78, .log_sd = 0.3};        // s_next

// A term is a struct without data in terms/, and a name in a list of terms.h. It has
//
//     static constexpr TermInfo info;
//     static std::vector<Parameter> parameters();
//     template <class T> static T seconds(const T* parameter, ...);
//
// with the signatures of its kind (terms.h). Names, dispatch, the candidates of a fit, Python's
// tables and the check of the reference page follow from these.

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
  bool linear = true;             // the time is a sum of linear coordinates (term.h)
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

// What is held plausible of a program before any of its steps was timed.
//
// The values were chosen by the log density of forecasts of what was left out of published tables
// of some thirty programs (lab/forecasters), in five folds of programs; log-normal ones are
// given as the logarithm of the median and its standard deviation.
#pragma once

#include <array>

#include "gpucast/fit/log_normal.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

struct Priors {
  // Largest share that a term has of any measured step time, which fixes its coefficient's scale.
  LogNormal work_share{-.557, .4};
  LogNormal share{-2.3025850929940455, 1.2};           // a tenth
  LogNormal imbalance_share{-1.903808973036678, 1.2};  // .149
  LogNormal host_share{-1.7037485919053417, 1.2};      // .182

  // Relative noise of a cell's time, and amplitudes of the processes (process.h).
  LogNormal noise{-4.423, 1.05};
  std::array<LogNormal, 3> amplitude{LogNormal{-3.412, 1.25}, LogNormal{-2.496, .45},
                                     LogNormal{-3.007, .7}};
  std::array<double, 3> length{.7, 2.0, 2.8};

  // A knee beyond the data is known within a factor.
  double beyond_log_sd = .5;

  // Two sizes do not tell one power of the work from another.
  double odds_of_two_sizes = -5;

  // Work of one process on all n elements is no part of programs that were made for many GPUs, and
  // is hard to tell from the rest with few sizes: log odds a unit of ln(N / 8), below so many
  // sizes, and from so many sizes of one GPU count on.
  double host_odds_by_gpus = -1.0;
  double host_odds_few_sizes = -2.0;
  double few_sizes = 4;
  double host_odds_many_sizes = 2.5;
  double many_sizes = 6;

  // Messages that grow with the GPUs in number are rare among programs that were made for many
  // GPUs, whose tables tell; up to so many GPUs hardly any table can, and the odds are higher.
  double ring_odds_few_gpus = 1.5;
  double few_gpus = 8;

  // d ln T / d ln N beyond the GPU counts measured: the root mean square of its distance from -1,
  // where all scales, in the tables that the priors were chosen on.
  double slope_sd = .5;

  // By how much variances are larger than the components say. Forms, growth and terms are chosen
  // from a list, and the truth is in none of them.
  double inflation = 1.6;

  constexpr LogNormal share_of(std::size_t term) const {
    using namespace model::scaling;
    if (leads(term)) return work_share;
    if (term == host_term || term == shared_term) return host_share;
    return terms[term].place == Place::work ? imbalance_share : share;
  }

  // Whether a term is the program's work: a form has one of these.
  static constexpr bool leads(std::size_t term) {
    return term == work_term || term == dedicated_term || term == whole_term || term == local_term;
  }

  static constexpr std::size_t work_term = model::scaling::term_named("work").value();
  static constexpr std::size_t dedicated_term = model::scaling::term_named("dedicated").value();
  static constexpr std::size_t whole_term = model::scaling::term_named("whole").value();
  static constexpr std::size_t local_term = model::scaling::term_named("local").value();
  static constexpr std::size_t shared_term = model::scaling::term_named("shared").value();
  static constexpr std::size_t ring_term = model::scaling::term_named("ring").value();
  static constexpr std::size_t host_term = model::scaling::term_named("host").value();
};

inline constexpr Priors priors{};

}  // namespace gpucast::fit::scaling

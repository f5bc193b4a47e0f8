// Priors of a program before any of its steps was timed.
//
// The values maximize the log density of forecasts of data left out of published tables of about
// thirty programs (lab/forecasters), in five folds of programs; log-normal ones are given as the
// logarithm of the median and its standard deviation.
#pragma once

#include "gpucast/fit/correlation.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

struct Priors {
  // Largest share of a term in any measured step time, which sets its coefficient's scale.
  LogNormal work_share{-.557, .4};
  LogNormal share{-2.3025850929940455, 1.2};           // a tenth
  LogNormal imbalance_share{-1.903808973036678, 1.2};  // .149
  LogNormal host_share{-1.7037485919053417, 1.2};      // .182

  // Relative noise of a cell's time, and amplitudes of the processes (form_fit.h).
  LogNormal noise{-4.423, 1.05};
  std::array<LogNormal, 3> amplitude{LogNormal{-3.412, 1.25}, LogNormal{-2.496, .45},
                                     LogNormal{-3.007, .7}};
  std::array<double, 3> length{.7, 2.0, 2.8};

  // A knee beyond the data is known within a factor.
  double beyond_log_sd = .5;

  // Two sizes do not determine the power of the work.
  double odds_of_two_sizes = -5;

  // Programs for many GPUs do not contain work of one process on all n elements, and with few sizes
  // it is hard to distinguish from other terms: log odds per unit of ln(N / 8), below this number
  // of sizes, and from this number of sizes of one GPU count on.
  double host_odds_by_gpus = -1.0;
  double host_odds_few_sizes = -2.0;
  double few_sizes = 4;
  double host_odds_many_sizes = 2.5;
  double many_sizes = 6;

  // Messages whose number grows with the GPUs are rare among programs for many GPUs, whose tables
  // show them; up to this number of GPUs hardly any table can, and the odds are higher.
  double ring_odds_few_gpus = 1.5;
  double few_gpus = 8;

  // Stated bytes of a step, which packing and several collectives may change.
  double bytes_log_sd = .2;
  double odds_of_stated_bytes = 3;

  // d ln T / d ln N beyond the measured GPU counts: the root mean square of its distance from -1,
  // ideal scaling, in the tables from which the priors were chosen.
  double slope_sd = .5;

  // The factor by which variances exceed those of the components. Forms, growth and terms are
  // chosen from a list that does not contain the truth.
  double inflation = 1.6;

  constexpr LogNormal share_of(std::size_t term) const {
    using namespace model::scaling;
    if (leads(term)) return work_share;
    if (term == host_term || term == shared_term) return host_share;
    return terms[term].place == Place::work ? imbalance_share : share;
  }

  // Whether a term is the program's work, of which a form has exactly one.
  static constexpr bool leads(std::size_t term) {
    return term == work_term || term == dedicated_term || term == whole_term || term == local_term;
  }

  static constexpr std::size_t work_term = model::scaling::term_named("work").value();
  static constexpr std::size_t dedicated_term = model::scaling::term_named("dedicated").value();
  static constexpr std::size_t whole_term = model::scaling::term_named("whole").value();
  static constexpr std::size_t local_term = model::scaling::term_named("local").value();
  static constexpr std::size_t shared_term = model::scaling::term_named("shared").value();
  static constexpr std::size_t collective_term = model::scaling::term_named("collective").value();
  static constexpr std::size_t ring_term = model::scaling::term_named("ring").value();
  static constexpr std::size_t host_term = model::scaling::term_named("host").value();
};

inline constexpr Priors priors{};

}  // namespace gpucast::fit::scaling

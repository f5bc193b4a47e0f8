// The plausible forms of a program, found by evidence.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <map>
#include <vector>

#include "gpucast/fit/scaling/cells.h"
#include "gpucast/fit/scaling/form_fit.h"
#include "gpucast/fit/scaling/priors.h"
#include "gpucast/fit/scaling/process.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

struct Plausible {
  model::scaling::Form form;
  Eigen::VectorXd parameters;
  double log_weight = 0;      // log evidence and log odds, up to a constant of all forms
  double log_stands_for = 0;  // logarithm of how many forms as plausible as it it stands for
};

// Where an earlier search left the coefficients of forms, to begin with.
using Starts = std::map<model::scaling::Form, Eigen::VectorXd>;

// A beam search: from the bare work of each growth, filling GPUs at once or not until they have
// some, the most plausible forms of either kind are each varied by one term more, another growth,
// another overlap, level by level. Returns the `most` most plausible forms and some of GPUs that
// may not be full, best first. `starts` is read and updated.
std::vector<Plausible> search_forms(const Cells& cells, const Process& process,
                                    const Priors& priors, Starts& starts, std::size_t most,
                                    unsigned threads);

// Forms, and where some of them have GPUs that are not full the same with every growth of work and
// every place of the knee: what few cells tell apart is not left to which form came first. At most
// about `most`, which then stand for all.
std::vector<Plausible> open_laws(const std::vector<Plausible>& forms, const Cells& cells,
                                 const Process& process, const Priors& priors, std::size_t most,
                                 unsigned threads);

// The `most` most plausible of known forms, with another process, best first.
std::vector<Plausible> rank_forms(const std::vector<Plausible>& forms, const Cells& cells,
                                  const Process& process, const Priors& priors, std::size_t most,
                                  unsigned threads);

}  // namespace gpucast::fit::scaling

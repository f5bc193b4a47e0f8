// The plausible forms of a program, found by evidence.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <map>
#include <vector>

#include "gpucast/fit/scaling/cells.h"
#include "gpucast/fit/scaling/process.h"
#include "gpucast/model/scaling/form.h"

namespace gpucast::fit::scaling {

struct Plausible {
  model::scaling::Form form;
  Eigen::VectorXd parameters{};  // empty: not fitted yet
  double log_weight = 0;         // log evidence and log odds, up to a constant of all forms
  double log_stands_for = 0;     // logarithm of how many forms as plausible as it it stands for
};

// Log odds of a form for measurements of this extent.
double log_odds(const model::scaling::Form& form, const model::scaling::Extent& measured);

// Fits forms, from the parameters that they have, and weighs them.
void weigh(std::vector<Plausible>& forms, const Cells& cells, const Process& process,
           unsigned threads);

// Leaves the `most` most plausible, best first.
void keep_best(std::vector<Plausible>& forms, std::size_t most);

// Forms that were fitted.
using Tried = std::map<model::scaling::Form, Plausible>;

// A beam search: from the bare work of each growth, filling GPUs at once or not until they have
// some, the most plausible forms of either kind are each varied by one term more, another growth,
// another overlap, level by level. Returns the `most` most plausible forms and some of GPUs that
// may not be full, best first. `tried`: by an earlier search, which tells where to begin, and then
// by this one.
std::vector<Plausible> search_forms(const Cells& cells, const Process& process, Tried& tried,
                                    std::size_t most, unsigned threads);

// Forms, and where some of them have GPUs that are not full the same with every growth of work and
// every place of the knee: what few cells tell apart is not left to which form came first. At most
// about `most`, which then stand for all.
std::vector<Plausible> open_laws(const std::vector<Plausible>& forms, const Cells& cells,
                                 const Process& process, std::size_t most, unsigned threads);

}  // namespace gpucast::fit::scaling

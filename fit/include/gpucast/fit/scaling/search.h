// The plausible forms of a program, by their evidence.
#pragma once

#include "gpucast/fit/scaling/form_fit.h"

namespace gpucast::fit::scaling {

struct Plausible {
  model::scaling::Form form;
  Eigen::VectorXd parameters{};  // empty: not fitted yet
  double log_weight = 0;         // log evidence plus log odds, up to a constant
  // Logarithm of the number of equally plausible forms that it represents.
  double log_stands_for = 0;
};

// Log odds of a form for measurements of this extent.
double log_odds(const model::scaling::Form& form, const model::scaling::Extent& measured);

// Fits forms, starting with their present parameters, and computes their weights.
void weigh(std::vector<Plausible>& forms, const Cells& cells, const Process& process,
           unsigned threads);

// Keeps the `most` most plausible forms, best first.
void keep_best(std::vector<Plausible>& forms, std::size_t most);

// Forms that were fitted.
using Tried = std::map<model::scaling::Form, Plausible>;

// A beam search: starts from the bare work of each growth, which fills GPUs at once or only from
// some size on; then varies the most plausible forms of either kind by one term more, another
// growth, or another overlap, level by level. Returns the `most` most plausible forms and some
// whose GPUs may not be full, best first. `tried`: the forms of an earlier search, where this one
// begins, and then its own.
std::vector<Plausible> search_forms(const Cells& cells, const Process& process, Tried& tried,
                                    std::size_t most, unsigned threads);

// Adds to forms whose GPUs are not full the same form with every growth of work and every position
// of the knee: a few cells do not distinguish them, and the choice must not depend on their order.
// Returns at most about `most`, which then represent all.
std::vector<Plausible> open_laws(const std::vector<Plausible>& forms, const Cells& cells,
                                 const Process& process, std::size_t most, unsigned threads);

}  // namespace gpucast::fit::scaling

#include "gpucast/fit/cross_validation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/parallel.h"
#include "gpucast/fit/structure.h"

namespace gpucast::fit {

namespace {

// Errors of held-out cells are at least a hundred times larger.
constexpr double good_enough = 1e-5;

// Fisher-Yates by hand: std::shuffle may differ between standard libraries.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 engine(seed);
  for (std::size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[engine() % i]);
  return order;
}

}  // namespace

std::vector<std::vector<double>> cross_validate(const std::vector<Candidate>& candidates,
                                                const Observations& observations, std::size_t folds,
                                                std::uint64_t seed, unsigned threads) {
  std::vector<std::size_t> steps;
  for (std::size_t j = 0; j < observations.cell_count(); ++j)
    if (observations.cells()[j].kind == Kind::step) steps.push_back(j);
  folds = std::clamp<std::size_t>(folds, 1, std::max<std::size_t>(1, steps.size()));
  const std::vector<std::size_t> order = shuffled(steps.size(), seed);

  std::vector<std::vector<double>> errors(
      candidates.size(),
      std::vector<double>(steps.size(), std::numeric_limits<double>::infinity()));
  parallel_for(candidates.size() * folds, threads, 1, [&](std::size_t task) {
    const Candidate& candidate = candidates[task / folds];
    const std::size_t fold = task % folds;
    std::vector<bool> keep(observations.cell_count(), true);
    for (std::size_t s = fold; s < order.size(); s += folds)
      keep[steps[order[s]]] = false;
    const Observations training = observations.subset(keep);
    const auto is_step = [](const Cell& cell) { return cell.kind == Kind::step; };
    if (!std::any_of(training.cells().begin(), training.cells().end(), is_step)) return;
    const Profile integers_tried =
        profile(candidate.model, training, candidate.integers, good_enough, Times::matrix);
    const IntegerClass& best = integers_tried.classes[integers_tried.best];
    const model::StepModel fitted = candidate.model.with_integer(best.representative());
    const Eigen::VectorXd values = values_from_log(fitted, best.estimate.z);
    for (std::size_t s = fold; s < order.size(); s += folds) {
      const std::size_t cell = steps[order[s]];
      const Cell& left_out = observations.cells()[cell];
      const double seconds = fitted.step_seconds(values.data(), left_out.n, left_out.gpus).total();
      errors[task / folds][order[s]] = std::abs(std::log(seconds) - observations.median_log(cell));
    }
  });
  return errors;
}

}  // namespace gpucast::fit

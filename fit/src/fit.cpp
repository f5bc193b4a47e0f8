#include "gpucast/fit/fit.h"

#include <stdexcept>
#include <utility>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/null_space.h"

namespace gpucast::fit {

Eigen::VectorXd Fit::values() const { return values_from_log(model, estimate().z); }

Replicates Fit::bootstrap(std::size_t count, std::uint64_t seed, unsigned threads) const {
  return fit::bootstrap(model, observations, profile, noise, count, seed, threads);
}

Fit fit(const model::StepModel& model, Observations observations,
        const std::vector<int>& integers) {
  if (observations.cell_count() == 0) throw std::invalid_argument("no observations");
  for (const Cell& cell : observations.cells()) {
    const bool known =
        cell.kind == Kind::transfer ? model.has_curve(cell.route) : model.terms().has_value();
    if (!known) throw std::invalid_argument("the model has no term for one of the observations");
  }
  Profile integers_tried = profile(model, observations, integers);
  IntegerClass& best = integers_tried.classes[integers_tried.best];
  const model::StepModel chosen = model.with_integer(best.representative());
  if (const NullSpace null_space(chosen, observations, best.estimate); null_space.dimension() > 0)
    best.estimate.z = null_space.centre(best.estimate.z);
  Identification identification = identify(chosen, observations, best.estimate);
  const auto used = leverage(chosen, observations, best.estimate);
  std::vector<Noise> noises;
  noises.reserve(group_count);
  for (std::size_t g = 0; g < group_count; ++g)
    noises.push_back(noise(observations, best.estimate, g, used[g]));
  std::vector<Misfit> along = misfits(chosen, observations, best.estimate);
  return {chosen,
          std::move(observations),
          std::move(integers_tried),
          std::move(identification),
          std::move(noises),
          std::move(along)};
}

}  // namespace gpucast::fit

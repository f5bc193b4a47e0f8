#include "gpucast/fit/structure.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/parallel.h"

namespace gpucast::fit {

namespace {

constexpr double rough_tolerance = 1e-4;

// A class is hopeless if its start values need more noise than another's by this much (in the
// logarithm, per sample): a factor of 1.65.
constexpr double hopeless_noise = 0.5;

// GPU times of the step cells with all GPU parameters 1, relative to the first.
std::vector<double> signature(const model::StepModel& model, const Observations& observations) {
  std::vector<double> result;
  const std::vector<double> ones(model.parameter_count(), 1.0);
  for (const Cell& cell : observations.cells())
    if (cell.kind == Kind::step)
      result.push_back(model.gpu_seconds(ones.data(), cell.n, cell.gpus));
  for (std::size_t i = result.size(); i-- > 0;)
    result[i] /= result[0];
  return result;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(
      a, b, [](double x, double y) { return std::abs(x - y) <= 1e-12 * std::abs(x); });
}

// Noise needed to explain all samples: sum of log sigma over samples (Gaussian log-likelihood at
// its maximum over the scales, constants dropped).
double noise_needed(const Observations& observations, const Estimate& estimate) {
  double total = 0;
  for (std::size_t j = 0; j < observations.cell_count(); ++j)
    for (const std::size_t i : observations.samples(j))
      total += std::log(sample_sigma(observations, estimate.sigma, j, i));
  return total;
}

// If work waits for ticks, the cost has a valley for every tick at which T_gpu may end. Linear
// start values assign the mean wait to T_gpu's constant, so that the right valley is near them or a
// part of a tick below. Kernels that were timed alone determine it.
std::vector<double> shifts(const model::StepModel& model, const Observations& observations) {
  const bool wavy = model.terms() && model::info(model.terms()->com).sees_ticks &&
                    model::info(model.terms()->gpu).constant;
  const bool told = std::ranges::any_of(observations.cells(),
                                        [](const Cell& cell) { return cell.kind == Kind::kernel; });
  if (!wavy || told) return {};
  return {-model::poll_tick / 4, -model::poll_tick / 2};
}

// Pure numbers of the GPU and CPU terms, by their index in the parameter vector.
std::vector<std::size_t> numbers_of(const model::StepModel& model) {
  std::vector<std::size_t> numbers;
  const auto& list = model.parameter_list();
  for (std::size_t i = 0; model.terms() && i < model.first_communication_parameter(); ++i)
    if (list[i].is_ratio()) numbers.push_back(i);
  return numbers;
}

// The rough fit that needs the least noise: from `start`, or from it with other pure numbers or a
// shifted t_0.
Estimate rough_estimate(const model::StepModel& model, const Observations& observations,
                        const Eigen::VectorXd& start, Times times) {
  constexpr double share_left = 0.1;  // t_0 stays positive
  const auto rough = [&](const Eigen::VectorXd& from) {
    return estimate(model, observations, from, {}, rough_tolerance, Loss::tukey, times);
  };
  Estimate best = rough(start);
  if (const auto numbers = numbers_of(model); !numbers.empty()) {
    // Linear start values assume that regimes are added. A fit of everything at once does not leave
    // that assumption: it moves to where a number has no effect. So several values of each number
    // are held and fitted around first, one number after another.
    Estimate held = best;
    Eigen::VectorXd from = start;
    for (const std::size_t number : numbers) {
      const model::Prior& prior = model.parameter_list()[number].prior;
      for (const double deviate : {-1.8, -0.9, 0.0, 1.0}) {
        Eigen::VectorXd z = from;
        z[static_cast<Eigen::Index>(number)] = std::log(prior.median) + deviate * prior.log_sd;
        Estimate fitted = estimate(model, observations, z, {}, rough_tolerance, Loss::tukey, times,
                                   Numbers::held);
        if (noise_needed(observations, fitted) < noise_needed(observations, held))
          held = std::move(fitted);
      }
      from = held.z;
    }
    Estimate fitted = rough(held.z);
    if (noise_needed(observations, fitted) < noise_needed(observations, best))
      best = std::move(fitted);
  }
  for (const double shift : shifts(model, observations)) {
    Eigen::VectorXd z = start;
    z[0] = std::log(std::max(share_left * std::exp(z[0]), std::exp(z[0]) + shift));
    Estimate fitted = rough(z);
    if (noise_needed(observations, fitted) < noise_needed(observations, best))
      best = std::move(fitted);
  }
  return best;
}

}  // namespace

int IntegerClass::representative() const {
  return static_cast<int>(
      std::floor(std::sqrt(static_cast<double>(members.front()) * members.back()) + 1e-9));
}

std::vector<std::size_t> Profile::plausible(double margin) const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i].estimate.cost <= classes[best].estimate.cost + margin) result.push_back(i);
  return result;
}

std::vector<int> default_integers(const model::StepModel& model, int largest_k) {
  return model.terms() ? model::integers(model.terms()->gpu, largest_k) : std::vector<int>{1};
}

Profile profile(const model::StepModel& model, const Observations& observations,
                const std::vector<int>& integers, double tolerance, Times times) {
  if (integers.empty()) throw std::invalid_argument("no structural integer to try");
  Profile result;
  std::vector<std::vector<double>> signatures;
  for (const int integer : integers) {
    const auto own = model.terms() ? signature(model.with_integer(integer), observations)
                                   : std::vector<double>{};
    const auto known =
        std::ranges::find_if(signatures, [&](const auto& other) { return same(own, other); });
    const auto at = static_cast<std::size_t>(known - signatures.begin());
    if (at == signatures.size()) {
      signatures.push_back(own);
      result.classes.emplace_back();
    }
    result.classes[at].members.push_back(integer);
  }

  // Rough fits with each class's own scales find the smallest scales: otherwise a wrong integer
  // would hide behind the noise that it causes itself. A class whose start values need far more
  // noise than another's keeps those; the others are fitted completely.
  std::vector<Estimate> rough;
  double least = std::numeric_limits<double>::infinity();
  for (const IntegerClass& entry : result.classes) {
    rough.push_back(start_estimate(model.with_integer(entry.representative()), observations));
    least = std::min(least, noise_needed(observations, rough.back()));
  }
  const double hopeless = least + hopeless_noise * static_cast<double>(observations.sample_count());
  std::vector<bool> in_play;
  std::size_t quietest = 0;
  least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < rough.size(); ++i) {
    in_play.push_back(noise_needed(observations, rough[i]) <= hopeless);
    if (!in_play[i]) continue;
    rough[i] = rough_estimate(model.with_integer(result.classes[i].representative()), observations,
                              rough[i].z, times);
    if (const double needed = noise_needed(observations, rough[i]); needed < least) {
      least = needed;
      quietest = i;
    }
  }
  const Scales scales = rough[quietest].sigma;
  result.best = quietest;
  for (std::size_t i = 0; i < rough.size(); ++i) {
    IntegerClass& entry = result.classes[i];
    const model::StepModel candidate = model.with_integer(entry.representative());
    entry.estimate = in_play[i] ? estimate(candidate, observations, rough[i].z, scales, tolerance,
                                           Loss::tukey, times)
                                : with_scales(std::move(rough[i]), observations, scales);
  }
  for (std::size_t i = 0; i < result.classes.size(); ++i)
    if (in_play[i] && result.classes[i].estimate.cost < result.classes[result.best].estimate.cost)
      result.best = i;
  return result;
}

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

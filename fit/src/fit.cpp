#include "gpucast/fit/fit.h"

#include <iterator>
#include <stdexcept>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/parallel.h"
#include "gpucast/fit/random.h"
#include "gpucast/fit/robust.h"

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

namespace {

double from(const std::vector<double>& pool, Random& random) {
  return pool[random.below(pool.size())];
}

// The residuals from which a group's noise is drawn, in units of sigma (samples) and as log times
// (cells).
struct Pools {
  std::vector<double> within;
  std::vector<double> cells;  // empty: no spread between cells
};

std::vector<Pools> pools_of(const Observations& observations, const Estimate& estimate,
                            const std::vector<Noise>& noise_of_group, std::size_t parameters) {
  std::vector<Pools> pools(group_count);
  std::vector<double> cell_squares(group_count, 0.0);
  const auto samples = static_cast<double>(observations.sample_count());
  const auto freedom = samples - static_cast<double>(parameters);
  const double inflation = freedom > 0 ? std::sqrt(samples / freedom) : 1.0;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    const std::size_t g = group(observations.cells()[j]);
    const double fitted = estimate.log_fit[static_cast<Eigen::Index>(j)];
    const Noise& noise = noise_of_group[g];
    const bool two_levels = std::isfinite(noise.pure_error);
    const double center = observations.median_log(j);
    const auto repetitions = static_cast<double>(observations.size(j));
    // A sample is nearer to its own cell's median than to the true centre: Var(y - median) =
    // sigma^2 (1 + Var(median) - 2 Cov(y, median)), the covariance 1 / m.
    const double from_center =
        1 / std::sqrt(1 + median_variance(observations.size(j)) - 2 / repetitions);
    if (two_levels && noise.between_cells > 0) {
      pools[g].cells.push_back(center - fitted);
      cell_squares[g] += std::pow(center - fitted, 2);
    }
    if (two_levels && observations.size(j) < 2) continue;
    for (const std::size_t i : observations.samples(j)) {
      const double sigma = sample_sigma(observations, estimate.sigma, j, i);
      const double deviation = two_levels ? (observations.log_seconds()[i] - center) * from_center
                                          : (observations.log_seconds()[i] - fitted) * inflation;
      pools[g].within.push_back(deviation / sigma);
    }
  }
  for (std::size_t g = 0; g < group_count; ++g) {
    // Deviations from medians do not sum to zero. The remainder would shift all times of a
    // replicate in the same way, in addition to what the fit follows; disturbed samples are
    // excluded from it.
    if (!pools[g].within.empty()) {
      const double centre = tukey_centre(pools[g].within);
      for (double& deviation : pools[g].within)
        deviation -= centre;
    }
    if (pools[g].cells.empty()) continue;
    const double spread = std::sqrt(cell_squares[g] / static_cast<double>(pools[g].cells.size()));
    for (double& cell : pools[g].cells)
      cell *= spread > 0 ? noise_of_group[g].between_cells / spread : 0.0;
  }
  return pools;
}

std::vector<double> replicate_times(const Observations& observations, const Estimate& estimate,
                                    const std::vector<Pools>& pools, Random& random) {
  std::vector<double> log_seconds(observations.sample_count());
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    const Pools& pool = pools[group(observations.cells()[j])];
    const double shift = pool.cells.empty() ? 0.0 : from(pool.cells, random);
    for (const std::size_t i : observations.samples(j)) {
      log_seconds[i] = estimate.log_fit[static_cast<Eigen::Index>(j)] + shift +
                       sample_sigma(observations, estimate.sigma, j, i) * from(pool.within, random);
    }
  }
  return log_seconds;
}

// The prior centres of pure numbers in a replicate: as far from the estimate as the prior allows.
// With the same centres in each replicate, numbers without data would look known.
Eigen::VectorXd replicate_centres(const model::StepModel& model, const Estimate& estimate,
                                  Random& random) {
  Eigen::VectorXd centres = estimate.z;
  for (const NumberPrior& prior : number_priors(model))
    centres[prior.at] += prior.sd * random.normal();
  return centres;
}

// Fitted z of each plausible integer, where its refits start.
struct Start {
  std::vector<int> members;
  std::vector<Eigen::VectorXd> z;
};

std::vector<Start> starts_of(const model::StepModel& model, const Observations& observations,
                             const Profile& profile) {
  std::vector<Start> starts;
  for (const std::size_t at : profile.plausible(plausible_margin)) {
    const IntegerClass& entry = profile.classes[at];
    Start start{entry.members, {}};
    for (const int member : entry.members) {
      if (member == entry.representative()) {
        start.z.push_back(entry.estimate.z);
      } else {
        const model::StepModel own = model.with_integer(member);
        start.z.push_back(
            estimate(own, observations, start_values(own, observations), entry.estimate.sigma, 1e-6)
                .z);
      }
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

}  // namespace

Replicates bootstrap(const model::StepModel& model, const Observations& observations,
                     const Profile& profile, const std::vector<Noise>& noise_of_group,
                     std::size_t count, std::uint64_t seed, unsigned threads) {
  constexpr double rough = 1e-5;   // far below the spread between replicates
  constexpr int steps_apart = 30;  // of hit-and-run: enough to forget the start in a few dimensions
  const Estimate& best = profile.classes[profile.best].estimate;
  const std::vector<Pools> pools =
      pools_of(observations, best, noise_of_group, model.parameter_count());
  const std::vector<Start> starts = starts_of(model, observations, profile);

  const bool deficient = NullSpace(model, observations, best).dimension() > 0;

  Replicates result{Eigen::MatrixXd(static_cast<Eigen::Index>(count),
                                    static_cast<Eigen::Index>(model.parameter_count())),
                    std::vector<int>(count)};
  parallel_for(count, threads, 8, [&](std::size_t replicate) {
    Random random(seed, replicate);  // independent of the assignment to threads
    const Observations drawn =
        observations.with_log_seconds(replicate_times(observations, best, pools, random));
    const Eigen::VectorXd plausible = replicate_centres(model, best, random);
    Estimate winner;
    int integer = 0;
    for (const Start& start : starts) {
      const std::size_t member = random.below(start.members.size());
      const Estimate refit =
          estimate(model.with_integer(start.members[member]), drawn, start.z[member], best.sigma,
                   rough, Loss::tukey, Times::matrix, Numbers::fitted, plausible);
      if (winner.z.size() == 0 || refit.cost < winner.cost) {
        winner = refit;
        integer = start.members[member];
      }
    }
    result.integers[replicate] = integer;
    if (deficient) {
      const model::StepModel own = model.with_integer(integer);
      winner.z = NullSpace(own, drawn, winner).wander(winner.z, steps_apart, random);
    }
    result.values.row(static_cast<Eigen::Index>(replicate)) =
        values_from_log(model, winner.z).transpose();
  });
  return result;
}

namespace {

constexpr std::size_t grain = 256;

// The model of each replicate, made once for all forecasts.
std::vector<model::StepModel> models_of(const model::StepModel& model,
                                        const Replicates& replicates) {
  std::vector<model::StepModel> models;
  std::ranges::transform(replicates.integers, std::back_inserter(models),
                         [&](int integer) { return model.with_integer(integer); });
  return models;
}

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

Forecast forecast(const model::StepModel& model, const Eigen::VectorXd& values,
                  const Replicates& replicates, std::span<const double> n,
                  std::span<const double> gpus, unsigned threads) {
  const std::size_t count = n.size();
  Forecast result{std::vector<double>(count), std::vector<double>(count),
                  std::vector<double>(count), std::vector<double>(count)};
  const std::vector<model::StepModel> models = models_of(model, replicates);
  const RowMajor rows = replicates.values;
  parallel_for(count, threads, grain, [&](std::size_t i) {
    const auto time = model.step_seconds(values.data(), n[i], gpus[i]);
    result.gpu[i] = time.gpu;
    result.cpu[i] = time.cpu;
    result.com[i] = time.com;
    double squares = 0;
    for (std::size_t b = 0; b < models.size(); ++b) {
      const double replicate =
          models[b]
              .step_seconds(rows.row(static_cast<Eigen::Index>(b)).data(), n[i], gpus[i])
              .total();
      const double log_ratio = std::log(replicate / time.total());
      squares += log_ratio * log_ratio;
    }
    result.spread[i] =
        models.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(models.size()));
  });
  return result;
}

Eigen::MatrixXd best_probability(const model::StepModel& model, const Replicates& replicates,
                                 std::span<const double> n, std::span<const double> gpus,
                                 unsigned threads) {
  Eigen::MatrixXd share = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(n.size()),
                                                static_cast<Eigen::Index>(gpus.size()));
  const std::vector<model::StepModel> models = models_of(model, replicates);
  const RowMajor rows = replicates.values;
  parallel_for(n.size(), threads, 1, [&](std::size_t i) {
    for (std::size_t b = 0; b < models.size(); ++b) {
      const double* values = rows.row(static_cast<Eigen::Index>(b)).data();
      Eigen::Index fastest = 0;
      double least = 0;
      for (std::size_t g = 0; g < gpus.size(); ++g) {
        const double seconds = models[b].step_seconds(values, n[i], gpus[g]).total();
        if (g == 0 || seconds < least) {
          least = seconds;
          fastest = static_cast<Eigen::Index>(g);
        }
      }
      share(static_cast<Eigen::Index>(i), fastest) += 1;
    }
  });
  if (!models.empty()) share /= static_cast<double>(models.size());
  return share;
}

}  // namespace gpucast::fit

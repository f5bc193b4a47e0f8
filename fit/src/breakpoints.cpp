#include "gpucast/fit/breakpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpucast/fit/estimate.h"
#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

constexpr double smallest_scale = 1e-4;  // curves closer to the data than this are as good

// Single timings carry quirks of their own, so a breakpoint has to earn more than bare equality: a
// difference of 6 in this criterion is "strong" evidence (Kass & Raftery 1995).
constexpr double strong_evidence = 6;

constexpr double rough = 1e-4;  // convergence of fits that are only compared

// Mean absolute value of standard normal noise.
constexpr double mean_magnitude = 0.7978845608028654;

// The sigma for which the mean of |r_j| / sqrt(sigma^2 + v_j) is that of normal noise. The mean,
// not the median: the two or three cells at a bend are what a missing breakpoint leaves.
double mean_scale(const std::vector<double>& residual, const std::vector<double>& known) {
  const auto mean_at = [&](double sigma) {
    double sum = 0;
    for (std::size_t j = 0; j < residual.size(); ++j) {
      sum += std::abs(residual[j]) / std::sqrt(sigma * sigma + known[j]);
    }
    return sum / static_cast<double>(residual.size());
  };
  double below = std::log(smallest_scale);
  double above = std::log(10.0);
  for (int step = 0; step < 40; ++step) {
    const double middle = (below + above) / 2;
    (mean_at(std::exp(middle)) > mean_magnitude ? below : above) = middle;
  }
  return std::exp(above);
}

using Knots = std::vector<std::size_t>;  // indices of measured sizes, ascending

class Search {
 public:
  explicit Search(const Observations& observations) : observations_(observations) {}

  std::vector<double> sizes(const Knots& knots) const {
    std::vector<double> bytes;
    bytes.reserve(knots.size());
    for (const std::size_t knot : knots) {
      bytes.push_back(observations_.cells()[knot].bytes);
    }
    return bytes;
  }

  double criterion(const Knots& knots) const {
    const model::Route route = observations_.cells().front().route;
    model::TransferCurves curves;
    curves[static_cast<std::size_t>(route)] = model::TransferCurve{sizes(knots)};
    const model::StepModel model(std::nullopt, {}, 1, curves);
    const Estimate fit =
        estimate(model, observations_, start_values(model, observations_), {}, rough, Loss::huber);
    // Residuals of cells, and what rounding alone makes of them.
    std::vector<double> residual;
    residual.reserve(observations_.cell_count());
    std::vector<double> known;
    known.reserve(observations_.cell_count());
    for (std::size_t j = 0; j < observations_.cell_count(); ++j) {
      residual.push_back(observations_.median_log(j) - fit.log_fit[static_cast<Eigen::Index>(j)]);
      known.push_back(observations_.rounding_variance()[observations_.first(j)]);
    }
    const double scale = mean_scale(residual, known);
    double deviance = 0;
    for (std::size_t j = 0; j < residual.size(); ++j) {
      const double b = mean_magnitude * std::sqrt(scale * scale + known[j]);
      deviance += 2 * std::log(b) + 2 * std::abs(residual[j]) / b;
    }
    const double parameters = static_cast<double>(model.parameter_count() + knots.size());
    return deviance + parameters * std::log(static_cast<double>(observations_.cell_count()));
  }

  // Pieces hold at least two sizes: first knot at index >= 1, knots two apart, two sizes after
  // the last.
  bool allowed(const Knots& knots) const {
    constexpr std::size_t apart = 2;
    if (knots.front() < 1 || knots.back() + apart >= observations_.cell_count()) {
      return false;
    }
    for (std::size_t i = 1; i < knots.size(); ++i) {
      if (knots[i] < knots[i - 1] + apart) {
        return false;
      }
    }
    return true;
  }

  // Best place for the knot at `position` with all others held; returns its criterion.
  double place(Knots& knots, std::size_t position) const {
    double best = std::numeric_limits<double>::infinity();
    Knots winner = knots;
    Knots others = knots;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(position));
    for (std::size_t at = 1; at < observations_.cell_count(); ++at) {
      Knots trial = others;
      trial.insert(std::ranges::upper_bound(trial, at), at);
      if (!allowed(trial)) {
        continue;
      }
      const double value = criterion(trial);
      if (value < best) {
        best = value;
        winner = trial;
      }
    }
    knots = winner;
    return best;
  }

 private:
  const Observations& observations_;
};

}  // namespace

std::vector<double> find_breakpoints(const Observations& observations, std::size_t largest) {
  constexpr std::size_t cells_a_parameter = 3;
  const Search search(observations);
  Knots best;
  if (observations.cell_count() < 2 * cells_a_parameter) {
    return {};
  }
  double least = search.criterion(best);
  while (best.size() < largest &&
         observations.cell_count() >= (best.size() + 2) * cells_a_parameter) {
    Knots trial = best;
    trial.push_back(observations.cell_count());  // a place holder for the knot to be placed
    double value = search.place(trial, trial.size() - 1);
    // Earlier knots were placed without this one: let them all move until none gains.
    for (bool moved = std::isfinite(value); moved;) {
      moved = false;
      for (std::size_t i = 0; i < trial.size(); ++i) {
        const double after = search.place(trial, i);
        moved = moved || after < value;
        value = std::min(value, after);
      }
    }
    if (!(value < least - strong_evidence)) {
      break;
    }
    least = value;
    best = trial;
  }
  return search.sizes(best);
}

}  // namespace gpucast::fit

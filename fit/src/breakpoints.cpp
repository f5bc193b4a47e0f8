#include "gpucast/fit/breakpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpucast/fit/estimate.h"
#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

using Knots = std::vector<std::size_t>;  // indices of measured sizes, ascending

class Search {
 public:
  explicit Search(const Observations& observations) : observations_(observations) {}

  std::vector<double> sizes(const Knots& knots) const {
    std::vector<double> bytes;
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
        estimate(model, observations_, start_values(model, observations_), {}, 1e-4);
    const auto cells = static_cast<double>(observations_.cell_count());
    const double parameters = static_cast<double>(model.parameter_count() + knots.size());
    // Wild cells count by Tukey's bounded cost instead of their square.
    std::vector<double> residual;
    for (std::size_t j = 0; j < observations_.cell_count(); ++j) {
      residual.push_back(
          std::abs(observations_.median_log(j) - fit.log_fit[static_cast<Eigen::Index>(j)]));
    }
    const double scale = std::max(1e-6, median(residual) / normal_mad);
    double squares = 0;
    for (const double r : residual) {
      squares += 2 * scale * scale * tukey_cost(r / scale);
    }
    return cells * std::log(std::max(1e-12, squares / cells)) + parameters * std::log(cells);
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
      trial.insert(std::upper_bound(trial.begin(), trial.end(), at), at);
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
    // Earlier knots were placed without this one: let each move once more.
    for (std::size_t i = 0; i + 1 < trial.size() && std::isfinite(value); ++i) {
      value = std::min(value, search.place(trial, i));
    }
    if (!(value < least)) {
      break;
    }
    least = value;
    best = trial;
  }
  return search.sizes(best);
}

}  // namespace gpucast::fit

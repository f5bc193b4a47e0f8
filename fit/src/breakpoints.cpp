#include "gpucast/fit/breakpoints.h"

#include <compare>
#include <limits>
#include <map>

#include "gpucast/fit/estimate.h"
#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

constexpr double smallest_scale = 1e-4;  // a closer fit is no better

// Single timings have quirks of their own, so that a breakpoint needs strong evidence: a difference
// of 6 in this criterion (Kass & Raftery 1995).
constexpr double strong_evidence = 6;

// A jump can replace a steep piece by chance, so that it needs "very strong" evidence in addition.
constexpr double very_strong_evidence = 10;

constexpr std::size_t cells_a_parameter = 3;

constexpr double rough = 1e-4;  // convergence of fits that are only compared

// Mean absolute value of standard normal noise.
constexpr double mean_magnitude = 0.7978845608028654;

// The sigma for which the mean of |r_j| / sqrt(sigma^2 + v_j) is that of normal noise. The mean is
// used and not the median, since a missing breakpoint shows in only two or three cells.
double mean_scale(const std::vector<double>& residual, const std::vector<double>& known) {
  return least_enough(smallest_scale, 10, 0, [&](double sigma) {
    double sum = 0;
    for (std::size_t j = 0; j < residual.size(); ++j)
      sum += std::abs(residual[j]) / std::sqrt(sigma * sigma + known[j]);
    return sum / static_cast<double>(residual.size()) > mean_magnitude;
  });
}

struct Knot {
  std::size_t at;  // index of a measured size
  bool jump;

  friend auto operator<=>(const Knot&, const Knot&) = default;
};

using Knots = std::vector<Knot>;  // ascending

class Search {
 public:
  explicit Search(const Observations& observations) : observations_(observations) {}

  std::vector<double> breakpoints(const Knots& knots) const {
    std::vector<double> bytes;
    for (const Knot& knot : knots)
      bytes.insert(bytes.end(), knot.jump ? 2 : 1, observations_.cells()[knot.at].bytes);
    return bytes;
  }

  // Each set of knots is fitted once, however often the search reaches it.
  double criterion(const Knots& knots) {
    const auto known = criteria_.find(knots);
    return known != criteria_.end() ? known->second
                                    : criteria_.emplace(knots, fitted(knots)).first->second;
  }

  double fitted(const Knots& knots) const {
    const model::Route route = observations_.cells().front().route;
    model::TransferCurves curves;
    curves[static_cast<std::size_t>(route)] = model::TransferCurve{breakpoints(knots)};
    const model::StepModel model(std::nullopt, {}, 1, curves);
    const Estimate fit = estimate(model, observations_, start_values(model, observations_), {},
                                  rough, Loss::huber, Times::matrix);
    // Residuals of cells, and their variances by rounding.
    std::vector<double> residual;
    std::vector<double> known;
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
    const double jumps =
        very_strong_evidence * static_cast<double>(std::ranges::count_if(knots, &Knot::jump));
    return deviance + jumps +
           parameters * std::log(static_cast<double>(observations_.cell_count()));
  }

  // Pieces hold at least two sizes: first knot at index >= 1, knots two apart, two sizes after the
  // last. Each estimated quantity except the latency has three sizes.
  bool allowed(const Knots& knots) const {
    constexpr std::size_t apart = 2;
    if (knots.front().at < 1 || knots.back().at + apart >= observations_.cell_count() ||
        observations_.cell_count() < (breakpoints(knots).size() + 1) * cells_a_parameter) {
      return false;
    }
    for (std::size_t i = 1; i < knots.size(); ++i)
      if (knots[i].at < knots[i - 1].at + apart) return false;
    return true;
  }

  // Best place and form for the knot at `position` with all others held; returns its criterion.
  double place(Knots& knots, std::size_t position, bool jumps) {
    double best = std::numeric_limits<double>::infinity();
    Knots winner = knots;
    Knots others = knots;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(position));
    for (std::size_t at = 1; at < observations_.cell_count(); ++at) {
      for (int jump = 0; jump <= (jumps ? 1 : 0); ++jump) {
        Knots trial = others;
        trial.insert(std::ranges::upper_bound(trial, at, {}, &Knot::at), Knot{at, jump == 1});
        if (!allowed(trial)) continue;
        if (const double value = criterion(trial); value < best) {
          best = value;
          winner = trial;
        }
      }
    }
    knots = winner;
    return best;
  }

  struct Found {
    Knots knots;
    double criterion;
  };

  // The best placement of at most `largest` knots, which are kinks only, or jumps too.
  Found best(std::size_t largest, bool jumps) {
    Found best{{}, criterion({})};
    while (best.knots.size() < largest) {
      Knots trial = best.knots;
      trial.push_back({observations_.cell_count(), false});  // placeholder
      double value = place(trial, trial.size() - 1, jumps);
      // Earlier knots were placed without this one: all move until none improves.
      for (bool moved = std::isfinite(value); moved;) {
        moved = false;
        for (std::size_t i = 0; i < trial.size(); ++i) {
          const double after = place(trial, i, jumps);
          moved = moved || after < value;
          value = std::min(value, after);
        }
      }
      if (!(value < best.criterion - strong_evidence)) break;
      best = {trial, value};
    }
    return best;
  }

 private:
  const Observations& observations_;
  std::map<Knots, double> criteria_;
};

}  // namespace

std::vector<double> find_breakpoints(const Observations& observations, std::size_t largest) {
  if (observations.cell_count() < 2 * cells_a_parameter) return {};
  // A jump that is taken early may hide the two kinks that are the truth, so that both are tried.
  Search search(observations);
  const Search::Found plain = search.best(largest, false);
  const Search::Found jumping = search.best(largest, true);
  const bool jumps_win = jumping.criterion < plain.criterion;
  return search.breakpoints((jumps_win ? jumping : plain).knots);
}

}  // namespace gpucast::fit

// The fit of a mixture: alternates between the search for forms, amplitudes by marginal likelihood,
// and cells that no process explains; then makes components about the most probable amplitudes.
#include <Eigen/Cholesky>
#include <limits>
#include <numeric>
#include <ranges>
#include <stdexcept>

#include "gpucast/fit/parallel.h"
#include "gpucast/fit/scaling/minimize.h"
#include "gpucast/fit/scaling/mixture.h"
#include "gpucast/fit/scaling/search.h"

namespace gpucast::fit::scaling {

namespace {

constexpr std::size_t most_forms = 25;
constexpr std::size_t most_first_forms = 60;
constexpr std::size_t most_open = 60;
constexpr std::size_t forms_for_amplitudes = 3;
constexpr double farthest_deviate = 4;
constexpr double integration_step = 1.2;    // of deviates about the most plausible
constexpr double negligible_weight = 1e-4;  // of a component
constexpr Eigen::Index most_cells_to_search = 64;

// With this number of cells another process hardly changes the ranking of forms, and they are not
// searched again.
constexpr Eigen::Index enough_cells_to_know_forms = 60;

// A cell may be unlike all others if it lies far from their prediction and a deviation of its own
// increases the log density of all times by this much (it is unusual). Fewer cells cannot decide
// this, and if more than one in this number are unlike, the noise is large instead.
constexpr double unusual = 5;
constexpr double least_unlike_sd = .3;
constexpr Eigen::Index fewest_cells_to_tell = 8;
constexpr Eigen::Index most_unlike_share = 6;

// The deviates that the cells can determine.
std::vector<std::size_t> free_deviates(const model::scaling::Extent& extent) {
  std::vector<std::size_t> result{0};
  if (extent.sizes > 1) result.push_back(1);
  result.push_back(2);
  if (extent.counts > 1) result.push_back(3);
  return result;
}

double half_square(const Deviates& deviates) {
  double sum = 0;
  for (const double deviate : deviates)
    sum += deviate * deviate;
  return .5 * sum;
}

struct Learned {
  Deviates deviates;
  double cost;  // negative log of posterior density, up to a constant
};

// The most probable deviates, by the marginal likelihood of the best forms.
Learned learn(const Cells& cells, const Correlations& among, const std::vector<Plausible>& forms,
              const Deviates& deviates) {
  const auto extent = cells.extent();
  const std::vector<std::size_t> free = free_deviates(extent);
  const auto with = [&](const Eigen::VectorXd& x) {
    Deviates all = deviates;
    for (std::size_t i = 0; i < free.size(); ++i)
      all[free[i]] = x[static_cast<Eigen::Index>(i)];
    return all;
  };
  const auto cost = [&](const Eigen::VectorXd& x) {
    if (x.cwiseAbs().maxCoeff() > farthest_deviate) return std::numeric_limits<double>::max();
    const Deviates at = with(x);
    const Process process(among, amplitudes(at), cells);
    std::vector<double> log_weights;
    for (const Plausible& plausible : forms | std::views::take(forms_for_amplitudes)) {
      const FormFit fit = fit_form(plausible.form, cells, process, plausible.parameters, 6);
      log_weights.push_back(fit.log_evidence + log_odds(plausible.form, extent));
    }
    return half_square(at) - log_sum_exp(log_weights);
  };
  Eigen::VectorXd start(static_cast<Eigen::Index>(free.size()));
  for (std::size_t i = 0; i < free.size(); ++i)
    start[static_cast<Eigen::Index>(i)] = deviates[free[i]];
  const Eigen::VectorXd minimum = minimize(cost, start, .02, 100);
  return {with(minimum), cost(minimum)};
}

// The distance of each cell from its prediction by all others: leave-one-out residuals of a
// Gaussian process with a fitted mean, and their standard deviations (Rasmussen and Williams,
// Gaussian Processes for Machine Learning, 5.4.2).
struct LeftOut {
  Eigen::VectorXd residual;
  Eigen::VectorXd sd;
};

LeftOut leave_out(const Cells& cells, const Process& process, const Plausible& best) {
  const Eigen::Index count = cells.size();
  const FormFit fit = fit_form(best.form, cells, process, best.parameters);
  const Eigen::MatrixXd inverse =
      process.whiten(Eigen::MatrixXd(Eigen::MatrixXd::Identity(count, count)));
  const Eigen::MatrixXd seen = inverse.transpose() * fit.jacobian;
  const Eigen::VectorXd precision =
      (inverse.transpose() * inverse - seen * fit.precision.llt().solve(seen.transpose()))
          .diagonal();
  return {(inverse.transpose() * fit.residuals).cwiseQuotient(precision),
          precision.cwiseInverse().cwiseSqrt()};
}

// Gives cells that are unlike all others a deviation of their own, one after another; returns the
// deviates that are then most probable.
Deviates set_apart(Cells& cells, const Correlations& among, const std::vector<Plausible>& forms,
                   const Deviates& deviates) {
  const Eigen::Index count = cells.size();
  if (count < fewest_cells_to_tell) return deviates;
  const Eigen::VectorXd before = cells.local;
  // One wild cell among few makes all noise seem large; among many it does not.
  const double suspicious = count <= most_cells_to_search ? 1.5 : 3.5;
  Learned learned{deviates, std::numeric_limits<double>::quiet_NaN()};
  for (Eigen::Index unlike = 0; unlike <= count / most_unlike_share; ++unlike) {
    const Process process(among, amplitudes(learned.deviates), cells);
    const LeftOut left_out = leave_out(cells, process, forms.front());
    Eigen::ArrayXd far = left_out.residual.cwiseQuotient(left_out.sd).cwiseAbs();
    for (Eigen::Index i = 0; i < count; ++i)
      if (!cells.may_be_mistaken(i)) far[i] = 0;
    Eigen::Index worst = 0;
    const double farthest = far.maxCoeff(&worst);
    if (farthest < suspicious || cells.local[worst] > 0) return learned.deviates;
    if (std::isnan(learned.cost)) learned = learn(cells, among, forms, deviates);
    const double sd = std::max(least_unlike_sd, std::abs(left_out.residual[worst]));
    cells.local[worst] = sd * sd;
    const Learned next = learn(cells, among, forms, learned.deviates);
    if (next.cost > learned.cost - unusual) {
      cells.local[worst] = 0;
      return learned.deviates;
    }
    learned = next;
  }
  cells.local = before;
  return learn(cells, among, forms, learned.deviates).deviates;
}

// Every kth cell in the order of GPU count and size, so that a search takes no longer.
Cells thinned(const Cells& cells) {
  const Eigen::Index count = cells.size();
  if (count <= most_cells_to_search) return cells;
  std::vector<Eigen::Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::ranges::sort(order, {},
                    [&](Eigen::Index i) { return std::pair(cells.gpus[i], cells.n[i]); });
  std::vector<Eigen::Index> kept;
  kept.reserve(static_cast<std::size_t>(most_cells_to_search));
  for (Eigen::Index i = 0; i < most_cells_to_search; ++i)
    kept.push_back(order[static_cast<std::size_t>(i * (count - 1) / (most_cells_to_search - 1))]);
  return cells.some(kept);
}

// Thinned cells with their process.
struct Thinned {
  Thinned(const Cells& all, const Deviates& deviates)
      : cells(thinned(all)), among(cells, cells), process(among, amplitudes(deviates), cells) {}

  Cells cells;
  Correlations among;
  Process process;
};

std::vector<Component> components_about(const Cells& cells, const Correlations& among,
                                        const std::vector<Plausible>& forms,
                                        const Deviates& deviates, unsigned threads) {
  const auto extent = cells.extent();
  std::vector<Deviates> points{deviates};
  for (const std::size_t deviate : free_deviates(extent)) {
    for (const double step : {-integration_step, integration_step}) {
      points.push_back(deviates);
      points.back()[deviate] += step;
    }
  }
  std::vector<Component> components(points.size() * forms.size());
  parallel_for(points.size(), threads, 1, [&](std::size_t p) {
    const Process process(among, amplitudes(points[p]), cells);
    for (std::size_t f = 0; f < forms.size(); ++f) {
      const Plausible& from = forms[f];
      FormFit fit = fit_form(from.form, cells, process, from.parameters);
      const double log_weight = fit.log_evidence + log_odds(from.form, extent) +
                                from.log_stands_for - half_square(points[p]);
      components[p * forms.size() + f] = {from.form, points[p], std::move(fit.parameters),
                                          log_weight};
    }
  });
  return components;
}

// Converts log weights to weights; drops negligible components.
void normalize(std::vector<Component>& components) {
  const double largest = std::ranges::max(components, {}, &Component::weight).weight;
  double sum = 0;
  for (Component& component : components)
    sum += component.weight = std::exp(component.weight - largest);
  std::erase_if(components, [&](const Component& c) { return c.weight < negligible_weight * sum; });
  sum = 0;
  for (const Component& component : components)
    sum += component.weight;
  for (Component& component : components)
    component.weight /= sum;
}

}  // namespace

Mixture fit_scaling(const Cells& measured, unsigned threads) {
  if (measured.size() == 0) throw std::invalid_argument("a fit needs cells");
  Cells cells = measured;
  const Correlations among(cells, cells);
  Deviates deviates{};
  Tried tried;
  Thinned few(cells, deviates);
  auto forms = search_forms(few.cells, few.process, tried, most_first_forms, threads);
  // These forms only start the search, for which a few cells suffice.
  deviates = learn(few.cells, few.among, forms, deviates).deviates;
  deviates = set_apart(cells, among, forms, deviates);
  few = Thinned(cells, deviates);
  if (few.cells.size() >= enough_cells_to_know_forms) {
    weigh(forms, few.cells, few.process, threads);
    keep_best(forms, most_forms);
  } else {
    forms = search_forms(few.cells, few.process, tried, most_forms, threads);
  }
  deviates = learn(cells, among, forms, deviates).deviates;
  few = Thinned(cells, deviates);
  forms = open_laws(forms, few.cells, few.process, most_open, threads);
  std::vector<Component> components = components_about(cells, among, forms, deviates, threads);
  normalize(components);
  return {std::move(cells), std::move(components), 0};
}

}  // namespace gpucast::fit::scaling

#include "gpucast/fit/components/component_mixture.h"

#include <limits>
#include <map>
#include <stdexcept>

#include "gpucast/fit/parallel.h"
#include "gpucast/fit/student_mixture.h"

namespace gpucast::fit::components {

namespace {

// Scale of Student's t for a standard deviation of 1: its tails are wider than a normal
// distribution's, so that its middle may be narrower (chosen by the density of left-out cells of
// h200-x2).
constexpr double scale = .95;
constexpr double hopeless = 8;              // in log evidence, of a GPU term
constexpr double negligible_weight = 1e-3;  // of the largest

std::vector<Cell> steps(const Eigen::VectorXd& n, const Eigen::VectorXd& gpus) {
  std::vector<Cell> cells(static_cast<std::size_t>(n.size()));
  for (Eigen::Index i = 0; i < n.size(); ++i) {
    Cell& cell = cells[static_cast<std::size_t>(i)];
    cell.n = n[i];
    cell.gpus = gpus[i];
  }
  return cells;
}

// Medians of the visits of each cell.
Eigen::VectorXd log_medians(const Measured& measured) {
  std::vector<std::vector<double>> of_cell(static_cast<std::size_t>(measured.size()));
  for (const Visit& visit : measured.visits)
    of_cell[static_cast<std::size_t>(visit.cell)].push_back(visit.step);
  Eigen::VectorXd result(measured.size());
  for (Eigen::Index c = 0; c < measured.size(); ++c) {
    auto& times = of_cell[static_cast<std::size_t>(c)];
    std::ranges::sort(times);
    result[c] = times[times.size() / 2];
  }
  return result;
}

// Checks that later steps rely on.
void require_usable(const Measured& measured) {
  const auto is_variance = [](double value) { return value >= 0 && std::isfinite(value); };
  std::vector<bool> visited(static_cast<std::size_t>(measured.size()), false);
  for (const Visit& visit : measured.visits) {
    if (visit.cell < 0 || visit.cell >= measured.size())
      throw std::invalid_argument("a visit's cell is not there");
    visited[static_cast<std::size_t>(visit.cell)] = true;
    if (!std::isfinite(visit.step) || !std::isfinite(visit.cpu) ||
        !is_variance(visit.step_variance) || !is_variance(visit.cpu_variance)) {
      throw std::invalid_argument("a visit's times are above 0 and finite, variances 0 or more");
    }
  }
  if (measured.size() == 0 || !std::ranges::all_of(visited, std::identity{}))
    throw std::invalid_argument("each cell needs a visit");
  for (Eigen::Index c = 0; c < measured.size(); ++c) {
    const double kernel = measured.kernel[c];
    if (std::isinf(kernel) || !(std::isnan(kernel) || is_variance(measured.kernel_variance[c])))
      throw std::invalid_argument("a kernel's time is above 0 and finite, its variance 0 or more");
  }
}

void require_host_work(const Measured& measured, const std::vector<Candidate>& candidates) {
  if (std::ranges::none_of(measured.visits, &Visit::has_cpu)) return;
  for (const Candidate& candidate : candidates)
    if (name(candidate.model.terms().value_or(model::StepTerms{}).cpu) == "none")
      throw std::invalid_argument("host times cannot be fitted by forms without host work");
}

}  // namespace

Mixture::Mixture(Measured measured, std::vector<Component> components)
    : measured_(std::move(measured)), components_(std::move(components)) {
  if (components_.empty()) throw std::invalid_argument("a mixture needs components");
  require_usable(measured_);
  fits_.reserve(components_.size());
  for (const Component& fitted : components_) {
    const auto count = static_cast<Eigen::Index>(fitted.form.model.parameter_count()) + 1;
    if (fitted.form.parameter_count() != count || fitted.point.z.size() != count ||
        fitted.form.sd.size() != count) {
      throw std::invalid_argument("a component has another number of parameters than its form");
    }
    fits_.emplace_back(fitted.form, measured_, fitted.point);
  }
}

const FormFit& Mixture::fit_of(std::size_t component) const {
  if (component >= fits_.size()) throw std::invalid_argument("no such component");
  return fits_[component];
}

FormFit::Predicted Mixture::predict(std::size_t component, const Eigen::VectorXd& n,
                                    const Eigen::VectorXd& gpus, bool joint) const {
  return fits_[component].predict(sites(components_[component].form.model, steps(n, gpus)), joint);
}

AveragedForecast Mixture::forecast(const Asked& asked, unsigned threads) const {
  const auto piece = [&](Eigen::Index first, Eigen::Index count, AveragedForecast& into) {
    const Eigen::VectorXd n = asked.n.segment(first, count);
    const Eigen::VectorXd gpus = asked.gpus.segment(first, count);
    std::vector<CellMixture> cells(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < components_.size(); ++i) {
      const auto one = predict(i, n, gpus, false);
      const auto& model = components_[i].form.model;
      const Eigen::VectorXd values = values_of(components_[i].form, components_[i].point.z);
      for (Eigen::Index j = 0; j < count; ++j) {
        const Eigen::Index at = first + j;
        const auto part = model.step_seconds(values.data(), n[j], gpus[j]);
        cells[static_cast<std::size_t>(j)].add(
            components_[i].weight, one.mean[j], one.variance[j] + asked.common[at],
            one.of_visit[j] / asked.visits[at] + asked.variance[at],
            Eigen::RowVector3d(part.gpu, part.cpu, part.com) / part.total(), scale);
      }
    }
    for (Eigen::Index j = 0; j < count; ++j)
      into.set(first + j, cells[static_cast<std::size_t>(j)]);
  };
  return forecast_in_pieces(asked.n.size(), threads, piece);
}

Computing Mixture::computing(const Eigen::VectorXd& n, const Eigen::VectorXd& gpus) const {
  const Eigen::Index count = n.size();
  Computing result{Eigen::MatrixXd::Zero(count, 2), Eigen::MatrixXd::Zero(count, 2)};
  Eigen::MatrixXd square = Eigen::MatrixXd::Zero(count, 2);
  for (std::size_t i = 0; i < components_.size(); ++i) {
    const double weight = components_[i].weight;
    for (const Eigen::Index part : {0, 1}) {
      std::vector<Cell> cells = steps(n, gpus);
      for (Cell& cell : cells)
        cell.kind = part == 0 ? Kind::kernel : Kind::cpu;
      const FormFit::Predicted one =
          fits_[i].predict_parts(sites(components_[i].form.model, std::move(cells)));
      result.mean.col(part) += weight * one.mean;
      square.col(part) += weight * (one.variance + one.mean.array().square().matrix());
    }
  }
  result.variance = (square - result.mean.array().square().matrix()).cwiseMax(0);
  return result;
}

Eigen::MatrixXd Mixture::draws(const Eigen::VectorXd& n, const Eigen::VectorXd& gpus,
                               Eigen::Index count, std::uint64_t seed) const {
  const auto member = [&](std::size_t i) {
    auto one = predict(i, n, gpus, true);
    return Joint{std::move(one.mean), scale * scale * one.covariance};
  };
  return fit::draws(weights_of(components_), member, count, seed);
}

Mixture fit_components(const Measured& measured, const std::vector<Candidate>& candidates,
                       unsigned threads) {
  require_usable(measured);
  require_host_work(measured, candidates);
  const std::vector<Cell> cells = steps(measured.n, measured.gpus);
  const Eigen::VectorXd medians = log_medians(measured);
  struct Tried {
    Component component;
    double log_weight;
  };
  std::vector<Tried> tried;
  const auto try_all = [&](const std::vector<std::size_t>& which, const LogAmplitudes& start) {
    const std::size_t before = tried.size();
    std::vector<std::vector<Tried>> results(which.size());
    parallel_for(which.size(), threads, 1, [&](std::size_t i) {
      const Candidate& candidate = candidates[which[i]];
      Form form = with_priors(candidate.model, cells, medians, candidate.known);
      try {
        Point point = fit_form(form, measured, start);
        const double evidence = FormFit(form, measured, point).log_evidence();
        results[i].push_back(
            {{std::move(form), std::move(point), 0}, evidence + candidate.log_odds});
      } catch (const NotFitted&) {  // other candidates are still tried
        results[i].clear();
      }
    });
    for (auto& fits : results)
      for (auto& one : fits)
        tried.push_back(std::move(one));
    return tried.size() > before;
  };
  // The first candidate of each GPU term, then the other candidates of the plausible GPU terms.
  std::map<std::string_view, std::size_t> first;
  std::vector<std::size_t> leading;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (first.emplace(name(candidates[i].model.terms().value_or(model::StepTerms{}).gpu), i).second)
      leading.push_back(i);
  if (!try_all(leading, usual_amplitudes()))
    throw std::invalid_argument("no form can be fitted to these times");
  const auto better = [](const Tried& a, const Tried& b) { return a.log_weight < b.log_weight; };
  const Tried& best = *std::ranges::max_element(tried, better);
  std::vector<std::string_view> hopeful;
  for (const Tried& attempt : tried) {
    if (attempt.log_weight > best.log_weight - hopeless) {
      hopeful.push_back(
          name(attempt.component.form.model.terms().value_or(model::StepTerms{}).gpu));
    }
  }
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto gpu = name(candidates[i].model.terms().value_or(model::StepTerms{}).gpu);
    if (first[gpu] != i && std::ranges::find(hopeful, gpu) != hopeful.end()) rest.push_back(i);
  }
  const LogAmplitudes start = best.component.point.amplitudes;
  try_all(rest, start);
  const double largest = std::ranges::max_element(tried, better)->log_weight;
  std::vector<Component> components;
  double sum = 0;
  for (Tried& attempt : tried) {
    const double weight = std::exp(attempt.log_weight - largest);
    if (weight < negligible_weight) continue;
    attempt.component.weight = weight;
    sum += weight;
    components.push_back(std::move(attempt.component));
  }
  for (Component& component : components)
    component.weight /= sum;
  std::ranges::sort(components, std::ranges::greater{}, &Component::weight);
  return {measured, std::move(components)};
}

}  // namespace gpucast::fit::components

#include "gpucast/fit/components/component_form.h"

#include <limits>

#include "gpucast/fit/evaluate.h"
#include "gpucast/model/terms/gpu.h"

namespace gpucast::fit::components {

namespace {

// Events around an empty kernel are 2 to 16 us apart.
constexpr LogNormal event_time{-12.43, .8};

// T_com counts as at least this share of a step: even if it seems to hide completely, that is not
// known exactly.
constexpr double least_com_share = .02;

// The coordinate of T_gpu: blocks on a multiprocessor for terms that depend on these, or work.
double gpu_coordinate(const model::StepModel& model, double n, double gpus) {
  const model::Step step{n, gpus, &model.workload()};
  const auto& needs = model::info(model.terms().value_or(model::StepTerms{}).gpu).needs;
  const bool blocks = std::ranges::any_of(
      needs, [](const model::Fact& fact) { return fact.count == model::block.count; });
  return blocks ? model::blocks_on_busiest(step, model.machine()) : step.work();
}

// ln of a value (s) far below any time: a parameter without effect that is still a number.
constexpr double log_nothing = -200;

// Cells that depend on a parameter: those of its part, and for communication those of several GPUs,
// since a single one does not need all of it.
std::vector<Cell> cells_that_show(const model::StepModel& model, std::size_t parameter,
                                  std::vector<Cell> steps) {
  for (Cell& cell : steps)
    if (parameter < model.first_cpu_parameter())
      cell.kind = Kind::kernel;
    else if (parameter < model.first_communication_parameter())
      cell.kind = Kind::cpu;
    else
      cell.gpus = std::max(cell.gpus, 2.0);
  return steps;
}

}  // namespace

Sites sites(const model::StepModel& model, std::vector<Cell> cells) {
  const auto count = static_cast<Eigen::Index>(cells.size());
  Sites result{std::move(cells), Eigen::VectorXd(count), Eigen::VectorXd(count),
               Eigen::VectorXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    const Cell& cell = result.cells[static_cast<std::size_t>(i)];
    result.log_n[i] = std::log(cell.n);
    result.log_gpus[i] = std::log(cell.gpus);
    result.coordinate[i] = std::log(gpu_coordinate(model, cell.n, cell.gpus));
  }
  return result;
}

Eigen::VectorXd values_of(const Form& form, const Eigen::VectorXd& z) {
  return values_from_log(form.model, z.head(form.parameter_count() - 1));
}

RowTimes row_times(const Form& form, const Sites& at, const Eigen::VectorXd& z) {
  const Eigen::Index count = at.size();
  const Eigen::Index last = form.parameter_count() - 1;
  RowTimes result{Eigen::VectorXd(count), Eigen::MatrixXd::Zero(count, last + 1),
                  Eigen::MatrixXd::Zero(count, 3)};
  Eigen::MatrixXd slopes(count, last);
  evaluate(form.model, at.cells, z.data(), result.log_seconds.data(), slopes.data());
  result.slopes.leftCols(last) = slopes;
  const Eigen::VectorXd values = values_of(form, z);
  const double events = std::exp(z[last]);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Cell& cell = at.cells[static_cast<std::size_t>(i)];
    if (cell.kind == Kind::cpu) {
      result.weights(i, 1) = 1;
    } else if (cell.kind == Kind::kernel) {
      const double kernel = std::exp(result.log_seconds[i]);
      const double share = kernel / (kernel + events);
      result.log_seconds[i] = std::log(kernel + events);
      result.slopes.row(i) *= share;
      result.slopes(i, last) = 1 - share;
      result.weights(i, 0) = share;
    } else {
      const auto parts = form.model.step_seconds(values.data(), cell.n, cell.gpus);
      const double total = parts.total();
      result.weights(i, 0) = std::min(1.0, parts.gpu / total);
      result.weights(i, 1) = std::min(1.0, parts.cpu / total);
      result.weights(i, 2) = std::max(least_com_share, std::abs(parts.com) / total);
    }
  }
  return result;
}

Eigen::VectorXd log_row_times(const Form& form, const Sites& at, const Eigen::VectorXd& z) {
  Eigen::VectorXd result(at.size());
  evaluate(form.model, at.cells, z.data(), result.data(), nullptr);
  const double events = std::exp(z[form.parameter_count() - 1]);
  for (Eigen::Index i = 0; i < at.size(); ++i)
    if (at.cells[static_cast<std::size_t>(i)].kind == Kind::kernel)
      result[i] = std::log(std::exp(result[i]) + events);
  return result;
}

Form with_priors(model::StepModel model, const std::vector<Cell>& steps,
                 const Eigen::VectorXd& log_seconds,
                 const std::vector<std::pair<std::string, LogNormal>>& known) {
  const auto& list = model.parameter_list();
  const auto count = static_cast<Eigen::Index>(list.size());
  Form form{std::move(model), Eigen::VectorXd(count + 1), Eigen::VectorXd(count + 1)};
  const auto& parameters = form.model.parameter_list();
  for (Eigen::Index i = 0; i < count; ++i) {
    const model::Parameter& parameter = parameters[static_cast<std::size_t>(i)];
    const auto given =
        std::ranges::find(known, parameter.name, [](const auto& prior) { return prior.first; });
    const bool is_known = given != known.end();
    const double sign = parameter.reciprocal ? -1 : 1;
    form.sd[i] = is_known ? given->second.log_sd : parameter.prior.log_sd;
    form.median[i] = sign * (is_known                     ? given->second.log_median
                             : parameter.prior.median > 0 ? std::log(parameter.prior.median)
                                                          : 0.0);
  }
  form.median[count] = event_time.log_median;
  form.sd[count] = event_time.log_sd;
  // A time that depends on a single parameter cannot exceed any measured one; half of the smallest
  // bound is a good guess.
  for (Eigen::Index i = 0; i < count; ++i) {
    const model::Parameter& parameter = parameters[static_cast<std::size_t>(i)];
    const bool is_known = std::ranges::any_of(
        known, [&](const auto& prior) { return prior.first == parameter.name; });
    if (is_known || parameter.prior.median > 0) continue;
    Eigen::VectorXd alone = Eigen::VectorXd::Constant(count, log_nothing);
    for (Eigen::Index j = 0; j < count; ++j) {
      const model::Parameter& other = parameters[static_cast<std::size_t>(j)];
      if (other.is_ratio()) alone[j] = form.median[j];
    }
    alone[i] = 0;
    Eigen::VectorXd unit(static_cast<Eigen::Index>(steps.size()));
    evaluate(form.model, cells_that_show(form.model, static_cast<std::size_t>(i), steps),
             alone.data(), unit.data(), nullptr);
    form.median[i] = std::log(.5) + (log_seconds - unit).minCoeff();
  }
  return form;
}

Correlations::Correlations(const Sites& a, const Sites& b)
    : gpu_(correlation(a.coordinate, b.coordinate, gpu_length)),
      cpu_(correlation(a.log_n, b.log_n, cpu_length)),
      com_(correlation(a.log_n, b.log_n, com_length)),
      gpus_(correlation(a.log_gpus, b.log_gpus, gpus_length)),
      same_(a.size(), b.size()) {
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    for (Eigen::Index j = 0; j < b.size(); ++j) {
      const bool same = a.log_n[i] == b.log_n[j] && a.log_gpus[i] == b.log_gpus[j];
      same_(i, j) = same ? 1 : 0;
    }
  }
}

std::array<Eigen::MatrixXd, first_of_visit> Correlations::pieces(
    const Eigen::MatrixXd& weights_a, const Eigen::MatrixXd& weights_b) const {
  const auto of_part = [&](Eigen::Index part) -> Eigen::MatrixXd {
    return weights_a.col(part) * weights_b.col(part).transpose();
  };
  const Eigen::MatrixXd gpu = of_part(0);
  const Eigen::MatrixXd com = of_part(2);
  const Eigen::MatrixXd over_n = com.cwiseProduct(com_);
  return {gpu.cwiseProduct(gpu_),     of_part(1).cwiseProduct(cpu_), over_n,
          over_n.cwiseProduct(gpus_), gpu.cwiseProduct(same_),       com.cwiseProduct(same_)};
}

Eigen::MatrixXd sum(const std::array<Eigen::MatrixXd, first_of_visit>& pieces,
                    const LogAmplitudes& log_amplitudes) {
  Eigen::MatrixXd result = std::exp(2 * log_amplitudes[0]) * pieces[0];
  for (std::size_t i = 1; i < pieces.size(); ++i)
    result += std::exp(2 * log_amplitudes[static_cast<Eigen::Index>(i)]) * pieces[i];
  return result;
}

Eigen::VectorXd variances(const Eigen::MatrixXd& weights, const LogAmplitudes& log_amplitudes) {
  const LogAmplitudes square = (2 * log_amplitudes.array()).exp();
  return weights.array().square().matrix() *
         Eigen::Vector3d(square[gpu_process] + square[gpu_of_cell], square[cpu_process],
                         square[com_process] + square[com_by_gpus] + square[com_of_cell]);
}

Eigen::VectorXd visit_variances(const Eigen::MatrixXd& weights,
                                const LogAmplitudes& log_amplitudes) {
  const LogAmplitudes square = (2 * log_amplitudes.array()).exp();
  return weights.array().square().matrix() *
         Eigen::Vector3d(square[gpu_of_visit], square[cpu_of_visit], square[com_of_visit]);
}

}  // namespace gpucast::fit::components

#include "gpucast/fit/scaling/form_fit.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "gpucast/fit/correlation.h"

namespace gpucast::fit::scaling {

Amplitudes amplitudes(const Deviates& deviates) {
  const auto value = [](const LogNormal& prior, double deviate) {
    return std::exp(prior.log_median + deviate * prior.log_sd);
  };
  Amplitudes result{value(priors.noise, deviates[0]), {}};
  for (std::size_t k = 0; k < 3; ++k)
    result.process[k] = value(priors.amplitude[k], deviates[k + 1]);
  return result;
}

Correlations::Correlations(const Cells& rows, const Cells& columns) {
  const Eigen::VectorXd n[] = {rows.n.array().log(), columns.n.array().log()};
  const Eigen::VectorXd gpus[] = {rows.gpus.array().log(), columns.gpus.array().log()};
  each_[0] = correlation(n[0], n[1], priors.length[0]);
  each_[1] = correlation(n[0] - gpus[0], n[1] - gpus[1], priors.length[1]);
  each_[2] = correlation(gpus[0], gpus[1], priors.length[2]);
}

Eigen::MatrixXd Correlations::covariance(const Amplitudes& amplitudes) const {
  const auto& a = amplitudes.process;
  return a[0] * a[0] * each_[0] + a[1] * a[1] * each_[1] + a[2] * a[2] * each_[2];
}

Process::Process(const Correlations& among, const Amplitudes& amplitudes, const Cells& cells) {
  Eigen::MatrixXd covariance = among.covariance(amplitudes);
  covariance.diagonal().array() += amplitudes.noise * amplitudes.noise + least_variance;
  covariance.diagonal() += cells.variance + cells.local;
  factor_ = covariance.llt().matrixL();
  log_determinant_ = factor_.diagonal().array().log().sum();
}

namespace {

constexpr double converged = 1e-5;    // change of the log posterior
constexpr double longest_step = 3.0;  // of a log coefficient in an iteration
constexpr int most_retries = 8;

// Normal priors of the parameters; those of log coefficients follow from the largest share that a
// term may have of any time.
struct Prior {
  Eigen::VectorXd mean;
  Eigen::VectorXd precision;
  double log_sd = 0;  // sum over the parameters
};

// The largest share of a term that no measured cell has, like exchange if all ran on one GPU. The
// data do not contain it; its share is assumed to be the prior's on four times the GPUs, where
// steps that scale half as well as possible take half as long.
double largest_share_of_unseen(std::size_t term, const model::scaling::Form& form,
                               const Cells& cells) {
  double largest = std::numeric_limits<double>::min();
  for (Eigen::Index i = 0; i < cells.size(); ++i) {
    auto scale = cells.scale(i, form.growth);
    scale.gpus *= 4;
    scale.latency = cells.network.at(scale.gpus, cells.network.latency);
    scale.per_byte = cells.network.at(scale.gpus, cells.network.per_byte);
    const double seconds = std::exp(cells.log_seconds[i]) / 2;
    largest = std::max(largest, model::scaling::terms[term].shape(scale) / seconds);
  }
  return largest;
}

Prior prior_of(const model::scaling::Form& form, const Shapes& shapes, const Cells& cells) {
  const auto count = static_cast<Eigen::Index>(form.parameter_count());
  Prior prior{Eigen::VectorXd(count), Eigen::VectorXd(count), 0};
  const Eigen::VectorXd rate = (-cells.log_seconds.array()).exp();
  for (Eigen::Index k = 0; k < shapes.value.cols(); ++k) {
    const std::size_t term = form.terms[static_cast<std::size_t>(k)];
    LogNormal share = priors.share_of(term);
    const double beyond = model::scaling::overlaps[form.overlap].beyond;
    if (beyond > 0 && Priors::leads(term)) share = {-std::log(beyond), priors.beyond_log_sd};
    const double largest = shapes.value.col(k).cwiseProduct(rate).maxCoeff();
    if (term == Priors::collective_term && cells.network.bytes > 0) {
      prior.mean[k] = std::log(cells.network.bytes);
      prior.precision[k] = 1 / (priors.bytes_log_sd * priors.bytes_log_sd);
      prior.log_sd += std::log(priors.bytes_log_sd);
      continue;
    }
    prior.mean[k] = share.log_median -
                    std::log(largest > 0 ? largest : largest_share_of_unseen(term, form, cells));
    prior.precision[k] = 1 / (share.log_sd * share.log_sd);
    prior.log_sd += std::log(share.log_sd);
  }
  if (form.is_free()) {
    const double sd = model::scaling::growths[form.growth].freedom;
    prior.mean[count - 1] = 0;
    prior.precision[count - 1] = 1 / (sd * sd);
    prior.log_sd += std::log(sd);
  }
  return prior;
}

// Begins at the prior's median, but with half of a step as the minimum time of a GPU that is not
// full. A smaller one would be hidden in all cells, and the iteration would not notice it.
Eigen::VectorXd begin(const model::scaling::Form& form, Eigen::VectorXd median) {
  for (std::size_t k = 0; k < form.terms.size(); ++k) {
    const std::size_t term = form.terms[k];
    if (model::scaling::terms[term].place != model::scaling::Place::filling) continue;
    median[static_cast<Eigen::Index>(k)] += std::log(.5) - priors.share_of(term).log_median;
  }
  return median;
}

// A point of the iteration.
struct At {
  Eigen::VectorXd parameters;
  Eigen::VectorXd residuals;
  Eigen::MatrixXd slopes;
  double cost;  // half of chi^2, the prior's included
};

}  // namespace

Shapes shapes(const model::scaling::Form& form, const Cells& cells, double reference) {
  const auto count = static_cast<Eigen::Index>(form.terms.size());
  Shapes result{Eigen::MatrixXd(cells.size(), count), {}};
  if (form.is_free()) result.tilt = Eigen::MatrixXd::Zero(cells.size(), count);
  for (Eigen::Index i = 0; i < cells.size(); ++i) {
    const auto scale = cells.scale(i, form.growth);
    for (Eigen::Index k = 0; k < count; ++k) {
      const auto& term = model::scaling::terms[form.terms[static_cast<std::size_t>(k)]];
      result.value(i, k) = term.shape(scale);
      if (!form.is_free() || !term.grows || result.value(i, k) == 0) continue;
      // The factor of the term for a power of the work that is larger by one: n, or n / N for work
      // within a share.
      model::scaling::Growth steeper = *scale.growth;
      steeper.power += 1;
      auto next = scale;
      next.growth = &steeper;
      result.tilt(i, k) = std::log(term.shape(next) / result.value(i, k) / reference);
    }
  }
  return result;
}

FormTimes form_times(const model::scaling::Form& form, const Shapes& shapes,
                     const Eigen::VectorXd& parameters) {
  const Eigen::Index count = shapes.value.cols();
  const Eigen::Index rows = shapes.value.rows();
  FormTimes result{Eigen::VectorXd(rows), Eigen::MatrixXd(rows, count),
                   Eigen::MatrixXd(rows, parameters.size())};
  const Eigen::RowVectorXd coefficients = parameters.head(count).array().exp().transpose();
  std::vector<double> part(static_cast<std::size_t>(count));
  for (Eigen::Index i = 0; i < rows; ++i) {
    Eigen::Map<Eigen::RowVectorXd> row(part.data(), count);
    row = shapes.value.row(i).cwiseProduct(coefficients);
    if (form.is_free()) row.array() *= (parameters[count] * shapes.tilt.row(i)).array().exp();
    const double seconds = combine(form, part);
    result.log_seconds[i] = std::log(seconds);
    result.shares.row(i) = row / seconds;
    if (form.is_free()) result.slopes(i, count) = result.shares.row(i).dot(shapes.tilt.row(i));
  }
  result.slopes.leftCols(count) = result.shares;
  return result;
}

FormFit fit_form(const model::scaling::Form& form, const Cells& cells, const Process& process,
                 const Eigen::VectorXd& start, int most_iterations) {
  const Shapes shape = shapes(form, cells, cells.largest_size());
  const Prior prior = prior_of(form, shape, cells);
  const auto evaluate = [&](Eigen::VectorXd parameters) {
    FormTimes times = form_times(form, shape, parameters);
    At at{std::move(parameters), process.whiten(cells.log_seconds - times.log_seconds),
          std::move(times.slopes), 0};
    const Eigen::ArrayXd off = at.parameters - prior.mean;
    at.cost = .5 * at.residuals.squaredNorm() + .5 * (off.square() * prior.precision.array()).sum();
    return at;
  };
  At at = evaluate(start.size() > 0 ? start : begin(form, prior.mean));
  Eigen::MatrixXd jacobian;
  Eigen::MatrixXd precision;
  const auto linearize = [&] {
    jacobian = process.whiten(at.slopes);
    precision = jacobian.transpose() * jacobian;
    precision.diagonal() += prior.precision;
  };
  double damping = 1e-3;
  bool done = !std::isfinite(at.cost);
  for (int i = 0; i < most_iterations && !done; ++i) {
    linearize();
    const Eigen::VectorXd ascent = jacobian.transpose() * at.residuals -
                                   (at.parameters - prior.mean).cwiseProduct(prior.precision);
    done = true;  // unless a step is found
    for (int retry = 0; retry < most_retries; ++retry) {
      Eigen::MatrixXd damped = precision;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd step =
          damped.llt().solve(ascent).cwiseMax(-longest_step).cwiseMin(longest_step);
      At next = evaluate(at.parameters + step);
      if (next.cost <= at.cost) {
        done = at.cost - next.cost < converged;
        at = std::move(next);
        damping = std::max(damping / 10, 1e-9);
        break;
      }
      damping *= 10;
    }
  }
  linearize();
  const Eigen::MatrixXd factor = precision.llt().matrixL();
  double log_evidence = -at.cost - process.log_determinant() - prior.log_sd -
                        factor.diagonal().array().log().sum() -
                        .5 * static_cast<double>(cells.size()) * std::log(2 * std::numbers::pi);
  if (!std::isfinite(log_evidence)) log_evidence = -std::numeric_limits<double>::max();
  return {std::move(at.parameters), std::move(at.residuals), std::move(jacobian),
          std::move(precision), log_evidence};
}

}  // namespace gpucast::fit::scaling

#include "gpucast/fit/components/component_fit.h"

#include <Eigen/Cholesky>
#include <limits>
#include <memory>

#include "gpucast/fit/correlation.h"
#include "gpucast/model/poll.h"

namespace gpucast::fit::components {

namespace {

constexpr double start_noise = .1;  // of log time, while the parameters are looked for
constexpr int start_iterations = 25;
constexpr int rounds = 3;  // alternating between parameters, amplitudes and disturbed visits
constexpr int most_iterations = 12;  // of the parameters in a round
constexpr int most_amplitude_steps = 12;
constexpr int most_halvings = 6;  // of a step
constexpr int iterations_to_a_tick = 8;
constexpr double share_of_constant_left = .1;  // of the constant that a tick is subtracted from
constexpr double converged = 1e-3;             // change of z
constexpr Eigen::Index columns_at_once = 48;   // of an inverse
constexpr double suspicious = 3;               // standard deviations

// With fewer cells a wrong form makes some of them look disturbed.
constexpr Eigen::Index fewest_to_judge = 6;

// The factor of a covariance; empty if it has none. Eigen reports success for NaN.
Eigen::MatrixXd cholesky(const Eigen::MatrixXd& matrix) {
  Eigen::MatrixXd padded = matrix;
  padded.diagonal().array() += least_variance;
  const Eigen::LLT<Eigen::MatrixXd> factor(padded);
  if (factor.info() != Eigen::Success || !factor.matrixLLT().allFinite()) return {};
  return factor.matrixL();
}

Eigen::MatrixXd required_factor(const Eigen::MatrixXd& covariance) {
  Eigen::MatrixXd factor = cholesky(covariance);
  if (factor.size() == 0) throw NotFitted("the measured cells' covariance has no factor");
  return factor;
}

template <class Columns>
Columns whiten(const Eigen::MatrixXd& factor, const Columns& columns) {
  return factor.triangularView<Eigen::Lower>().solve(columns);
}

// The inverse of the covariance with this factor, several columns at a time. Skipping zero entries
// of the factor's inverse saves two thirds of the work.
Eigen::MatrixXd inverse(const Eigen::MatrixXd& factor) {
  const Eigen::Index count = factor.rows();
  Eigen::MatrixXd half = Eigen::MatrixXd::Zero(count, count);
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(count, count);
  for (Eigen::Index at = 0; at < count; at += columns_at_once) {
    const Eigen::Index left = count - at;
    const Eigen::Index width = std::min(columns_at_once, left);
    half.block(at, at, left, width) =
        whiten(factor.bottomRightCorner(left, left),
               Eigen::MatrixXd(Eigen::MatrixXd::Identity(left, width)));
  }
  for (Eigen::Index at = 0; at < count; at += columns_at_once) {
    const Eigen::Index width = std::min(columns_at_once, count - at);
    const Eigen::Index filled = at + width;
    result.topLeftCorner(filled, filled)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(half.block(at, 0, width, filled).transpose());
  }
  return result.selfadjointView<Eigen::Lower>();
}

double amplitude_penalty(const LogAmplitudes& log_amplitudes) {
  double sum = 0;
  for (std::size_t i = 0; i < amplitude_count; ++i) {
    const auto& prior = about_amplitudes[i].prior;
    const double off =
        (log_amplitudes[static_cast<Eigen::Index>(i)] - prior.log_median) / prior.log_sd;
    sum += .5 * off * off;
  }
  return sum;
}

class Fitting {
 public:
  Fitting(const Form& form, const Measured& measured, const LogAmplitudes& start)
      : form_(form),
        measured_(measured),
        rows_(measured),
        sites_(sites(form.model, rows_.cells)),
        correlations_(sites_, sites_),
        point_{form.median, start, Disturbed(measured)} {}

  Point run() {
    begin();
    if (sees_ticks()) find_tick();
    for (int round = 0; round < rounds; ++round) {
      find_parameters(most_iterations);
      linearize();
      if (round > 0) find_amplitudes();
      if (round + 1 < rounds && measured_.size() >= fewest_to_judge) find_disturbed();
    }
    find_parameters(most_iterations / 2);
    return point_;
  }

 private:
  double prior_cost(const Eigen::VectorXd& z) const {
    return .5 * ((z - form_.median).array() / form_.sd.array()).square().sum();
  }

  // Penalized least squares with the same noise everywhere.
  void begin() {
    const VisitNoise noise = noise_at(equal_weights());
    const Eigen::VectorXd precision = form_.sd.array().square().inverse();
    const double inverse = 1 / (start_noise * start_noise);
    const auto cost = [&](const Eigen::VectorXd& z) {
      return .5 * inverse * (noise.mean() - log_row_times(form_, sites_, z)).squaredNorm() +
             prior_cost(z);
    };
    for (int i = 0; i < start_iterations; ++i) {
      const RowTimes times = row_times(form_, sites_, point_.z);
      Eigen::MatrixXd normal = inverse * times.slopes.transpose() * times.slopes;
      normal.diagonal() += precision;
      const Eigen::VectorXd gradient =
          inverse * times.slopes.transpose() * (noise.mean() - times.log_seconds) -
          precision.cwiseProduct(point_.z - form_.median);
      if (!advance(normal.llt().solve(gradient), cost)) break;
    }
  }

  bool sees_ticks() const {
    const auto terms = form_.model.terms();
    return terms && model::info(terms->com).sees_ticks;
  }

  // If work is seen to end at ticks, the density has a valley for each possible tick, along the
  // work's constant and the launches before it. The iteration begins in the most probable of
  // several.
  void find_tick() {
    const Eigen::VectorXd begun = point_.z;
    const auto launch = static_cast<Eigen::Index>(form_.model.first_communication_parameter());
    const bool constant =
        model::info(form_.model.terms().value_or(model::StepTerms{}).gpu).constant;
    double highest = evidence_about(begun);
    Eigen::VectorXd best = point_.z;
    for (const double earlier : {0.0, .25}) {  // of a tick
      if (earlier > 0 && !constant) continue;
      for (const double deviate : {-.5, 0.0, .5}) {
        Eigen::VectorXd z = begun;
        const double seconds = std::exp(z[0]);
        if (constant) {
          z[0] = std::log(
              std::max(share_of_constant_left * seconds, seconds - earlier * model::poll_tick));
        }
        z[launch] = form_.median[launch] + deviate * form_.sd[launch];
        if (const double evidence = evidence_about(z); evidence > highest) {
          highest = evidence;
          best = point_.z;
        }
      }
    }
    point_.z = best;
  }

  // Moves z to the best parameters near it; returns nothing if they have no density.
  double evidence_about(const Eigen::VectorXd& z) {
    try {
      point_.z = z;
      find_parameters(iterations_to_a_tick);
      return FormFit(form_, measured_, point_, correlations_).log_evidence();
    } catch (const NotFitted&) {
      return -std::numeric_limits<double>::infinity();
    }
  }

  // Moves z along `step` as far as `cost` falls; returns whether it changed noticeably.
  template <class Cost>
  bool advance(Eigen::VectorXd step, const Cost& cost) {
    if (!step.allFinite()) return false;
    step *= std::min(1.0, 1.0 / std::max(step.cwiseAbs().maxCoeff(), 1e-9));
    const double before = cost(point_.z);
    for (int halvings = 0; halvings <= most_halvings; ++halvings) {
      const double fraction = std::ldexp(1.0, -halvings);
      const Eigen::VectorXd next = point_.z + fraction * step;
      if (cost(next) <= before + 1e-9) {
        point_.z = next;
        return (fraction * step).cwiseAbs().maxCoeff() > converged;
      }
    }
    return false;
  }

  Eigen::MatrixXd equal_weights() const {
    return Eigen::MatrixXd::Constant(sites_.size(), 3, 1.0 / 3);
  }

  VisitNoise noise_at(const Eigen::MatrixXd& weights) const {
    return {measured_, rows_, weights, point_.amplitudes, point_.disturbed};
  }

  // Gauss-Newton iterations with given amplitudes; the covariance is updated with the shares from
  // time to time.
  void find_parameters(int iterations) {
    const Eigen::VectorXd precision = form_.sd.array().square().inverse();
    Eigen::MatrixXd factor;
    Eigen::VectorXd mean;
    for (int i = 0; i < iterations; ++i) {
      const RowTimes times = row_times(form_, sites_, point_.z);
      if (i == 0 || i == 2 || i == 4 || i == 7) {
        const VisitNoise noise = noise_at(times.weights);
        Eigen::MatrixXd covariance =
            sum(correlations_.pieces(times.weights, times.weights), point_.amplitudes);
        noise.add_to(covariance);
        factor = required_factor(covariance);
        mean = noise.mean();
      }
      const Eigen::MatrixXd jacobian = whiten(factor, times.slopes);
      const Eigen::VectorXd residuals = whiten(factor, Eigen::VectorXd(mean - times.log_seconds));
      Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
      normal.diagonal() += precision;
      const Eigen::VectorXd gradient =
          jacobian.transpose() * residuals - precision.cwiseProduct(point_.z - form_.median);
      const auto cost = [&](const Eigen::VectorXd& z) {
        const Eigen::VectorXd off = mean - log_row_times(form_, sites_, z);
        return off.allFinite() ? .5 * whiten(factor, off).squaredNorm() + prior_cost(z)
                               : std::numeric_limits<double>::infinity();
      };
      if (!advance(normal.llt().solve(gradient), cost) && i >= 5) break;
    }
  }

  // Computes what stays constant while amplitudes are fitted.
  void linearize() {
    const RowTimes times = row_times(form_, sites_, point_.z);
    weights_ = times.weights;
    pieces_ = correlations_.pieces(weights_, weights_);
    const Eigen::MatrixXd scaled = times.slopes * form_.sd.asDiagonal();
    by_parameters_ = scaled * scaled.transpose();
    expected_ = times.log_seconds + times.slopes * (form_.median - point_.z);
  }

  struct Whole {
    std::shared_ptr<const VisitNoise> noise;
    Eigen::MatrixXd factor;
    Eigen::VectorXd residuals;
    double cost;
  };

  // The state at the fit's present amplitudes.
  Whole required_whole() const {
    Whole result = whole();
    if (!std::isfinite(result.cost)) throw NotFitted("the measured times have no density");
    return result;
  }

  Whole whole() const {
    Whole result{std::make_shared<const VisitNoise>(noise_at(weights_)),
                 {},
                 {},
                 std::numeric_limits<double>::infinity()};
    Eigen::MatrixXd covariance = by_parameters_ + sum(pieces_, point_.amplitudes);
    result.noise->add_to(covariance);
    result.factor = cholesky(covariance);
    if (result.factor.size() == 0) return result;
    result.residuals = result.noise->mean() - expected_;
    result.cost = .5 * whiten(result.factor, result.residuals).squaredNorm() +
                  result.factor.diagonal().array().log().sum() - result.noise->log_density() +
                  amplitude_penalty(point_.amplitudes);
    return result;
  }

  // Maximizes the marginal likelihood of the amplitudes by scoring with the average information.
  void find_amplitudes() {
    Whole now = required_whole();
    for (int i = 0; i < most_amplitude_steps; ++i) {
      const Eigen::MatrixXd inverted = inverse(now.factor);
      const Eigen::VectorXd alpha = inverted * now.residuals;
      LogAmplitudes gradient;
      Eigen::Matrix<double, amplitude_count, amplitude_count> information =
          Eigen::Matrix<double, amplitude_count, amplitude_count>::Zero();
      Eigen::MatrixXd along(rows_.size(), first_of_visit);
      constexpr auto processes = static_cast<Eigen::Index>(first_of_visit);
      for (Eigen::Index k = 0; k < processes; ++k) {
        const Eigen::MatrixXd& piece = pieces_[static_cast<std::size_t>(k)];
        const double square = std::exp(2 * point_.amplitudes[k]);
        along.col(k) = 2 * square * (piece * alpha);
        gradient[k] = square * inverted.cwiseProduct(piece).sum() - .5 * alpha.dot(along.col(k));
      }
      const auto of_visits = now.noise->slopes(inverted, alpha);
      gradient.tail<4>() = of_visits.gradient;
      information.topLeftCorner<processes, processes>() =
          .5 * along.transpose() * (inverted * along);
      information.bottomRightCorner<4, 4>() = of_visits.information;
      information.topRightCorner<processes, 4>() = .5 * along.transpose() * of_visits.along;
      information.bottomLeftCorner<4, processes>() =
          information.topRightCorner<processes, 4>().transpose();
      for (std::size_t k = 0; k < amplitude_count; ++k) {
        const auto& prior = about_amplitudes[k].prior;
        const auto at = static_cast<Eigen::Index>(k);
        const double precision = 1 / (prior.log_sd * prior.log_sd);
        information(at, at) += precision;
        gradient[at] += precision * (point_.amplitudes[at] - prior.log_median);
      }
      LogAmplitudes step = -information.ldlt().solve(gradient);
      if (!step.allFinite()) return;
      step *= std::min(1.0, 1.0 / std::max(step.cwiseAbs().maxCoeff(), 1e-9));
      const LogAmplitudes before = point_.amplitudes;
      bool moved = false;
      for (int halvings = 0; halvings <= most_halvings && !moved; ++halvings) {
        const double fraction = std::ldexp(1.0, -halvings);
        point_.amplitudes = before + fraction * step;
        Whole next = whole();
        moved = next.cost < now.cost;
        if (moved) {
          const bool little = now.cost - next.cost < 1e-2;
          now = std::move(next);
          if (little) return;
        }
      }
      if (!moved) {
        point_.amplitudes = before;
        return;
      }
    }
  }

  // A visit that deviates from all other cells and visits gets variance of its own. The test
  // ignores the variance that it has been given before.
  void find_disturbed() {
    const Whole now = required_whole();
    const Eigen::MatrixXd inverted = inverse(now.factor);
    const Eigen::VectorXd alpha = inverted * now.residuals;
    const Disturbed none(measured_);
    const VisitNoise clean(measured_, rows_, weights_, point_.amplitudes, none);
    Disturbed disturbed(measured_);
    for (Eigen::Index c = 0; c < measured_.size(); ++c) {
      const auto& at = rows_.of_cell[static_cast<std::size_t>(c)];
      if (at[2] >= 0) {
        const double variance = 1 / inverted(at[2], at[2]);
        const double base = std::max(variance - point_.disturbed.kernel[c], 1e-8);
        const double z = alpha[at[2]] * variance / std::sqrt(base);
        if (std::abs(z) > suspicious) disturbed.kernel[c] = base * z * z / 4;
      }
    }
    for (std::size_t v = 0; v < measured_.visits.size(); ++v) {
      const Visit& visit = measured_.visits[v];
      const auto& at = rows_.of_cell[static_cast<std::size_t>(visit.cell)];
      judge(visit, v, at[0], 0, visit.step, inverted, alpha, *now.noise, clean,
            disturbed.step[static_cast<Eigen::Index>(v)]);
      if (visit.has_cpu) {
        judge(visit, v, at[1], 1, visit.cpu, inverted, alpha, *now.noise, clean,
              disturbed.cpu[static_cast<Eigen::Index>(v)]);
      }
    }
    point_.disturbed = std::move(disturbed);
  }

  // Predicts a visit's time from the other cells and the other visits of its own cell.
  void judge(const Visit& visit, std::size_t which, Eigen::Index row, Eigen::Index part,
             double seen, const Eigen::MatrixXd& inverted, const Eigen::VectorXd& alpha,
             const VisitNoise& noise, const VisitNoise& clean, double& extra) const {
    const double left_out = 1 / inverted(row, row);
    const double own = noise.covariance(visit.cell)(part, part);
    const double cell_variance = std::max(left_out - own, 1e-8);
    const double cell_mean = noise.mean()[row] - alpha[row] * left_out;
    double precision = 1 / cell_variance;
    double weighted = cell_mean / cell_variance;
    for (std::size_t u = 0; u < measured_.visits.size(); ++u) {
      const Visit& other = measured_.visits[u];
      if (other.cell != visit.cell || u == which || (part == 1 && !other.has_cpu)) continue;
      const double variance = noise.variance(u, part);
      precision += 1 / variance;
      weighted += (part == 0 ? other.step : other.cpu) / variance;
    }
    const double base = 1 / precision + clean.variance(which, part);
    const double z = (seen - weighted / precision) / std::sqrt(base);
    if (std::abs(z) > suspicious) extra = base * z * z / 4;
  }

  const Form& form_;
  const Measured& measured_;
  Rows rows_;
  Sites sites_;
  Correlations correlations_;
  Point point_;
  Eigen::MatrixXd weights_;
  std::array<Eigen::MatrixXd, first_of_visit> pieces_;
  Eigen::MatrixXd by_parameters_;
  Eigen::VectorXd expected_;
};

}  // namespace

Point fit_form(const Form& form, const Measured& measured, const LogAmplitudes& start) {
  return Fitting(form, measured, start).run();
}

FormFit::FormFit(const Form& form, const Measured& measured, Point point)
    : FormFit(form, measured, std::move(point), [&] {
        const Sites at = sites(form.model, Rows(measured).cells);
        return Correlations(at, at);
      }()) {}

FormFit::FormFit(const Form& form, const Measured& measured, Point point,
                 const Correlations& between)
    : form_(&form), point_(std::move(point)) {
  const Rows rows(measured);
  of_cell_ = rows.of_cell;
  sites_ = sites(form.model, rows.cells);
  const RowTimes times = row_times(form, sites_, point_.z);
  weights_ = times.weights;
  const VisitNoise noise(measured, rows, weights_, point_.amplitudes, point_.disturbed);
  Eigen::MatrixXd covariance = sum(between.pieces(weights_, weights_), point_.amplitudes);
  noise.add_to(covariance);
  factor_ = required_factor(covariance);
  jacobian_ = whiten(factor_, times.slopes);
  residuals_ = whiten(factor_, Eigen::VectorXd(noise.mean() - times.log_seconds));
  const Eigen::VectorXd inverse_variance = form.sd.array().square().inverse();
  Eigen::MatrixXd normal = jacobian_.transpose() * jacobian_;
  normal.diagonal() += inverse_variance;
  precision_ = normal.llt().matrixL();
  step_ = normal.llt().solve(jacobian_.transpose() * residuals_ -
                             inverse_variance.cwiseProduct(point_.z - form.median));
  residuals_ -= jacobian_ * step_;
  const Eigen::VectorXd off = (point_.z + step_ - form.median).cwiseQuotient(form.sd);
  log_evidence_ = noise.log_density() - .5 * residuals_.squaredNorm() - .5 * off.squaredNorm() -
                  factor_.diagonal().array().log().sum() -
                  precision_.diagonal().array().log().sum() - form.sd.array().log().sum() -
                  .5 * static_cast<double>(rows.size()) * std::log(2 * std::numbers::pi) -
                  amplitude_penalty(point_.amplitudes);
  if (!std::isfinite(log_evidence_)) throw NotFitted("the measured times have no density");
}

Eigen::VectorXd FormFit::errors() const {
  const Eigen::Index count = precision_.rows();
  return whiten(precision_, Eigen::MatrixXd(Eigen::MatrixXd::Identity(count, count)))
      .colwise()
      .norm()
      .transpose();
}

Eigen::VectorXd FormFit::left_out() const {
  // With the inverse P of the rows' whole covariance and their residuals r, the prediction error of
  // a block b of rows that is left out is P_bb^-1 (P r)_b.
  const Eigen::Index count = factor_.rows();
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(count, count);
  const Eigen::MatrixXd unwhiten = whiten(factor_, identity).transpose();
  const Eigen::MatrixXd half = whiten(precision_, Eigen::MatrixXd(jacobian_.transpose()));
  const Eigen::MatrixXd inverse =
      unwhiten * (identity - half.transpose() * half) * unwhiten.transpose();
  const Eigen::VectorXd weighted = unwhiten * residuals_;
  Eigen::VectorXd result(static_cast<Eigen::Index>(of_cell_.size()));
  for (std::size_t c = 0; c < of_cell_.size(); ++c) {
    std::vector<Eigen::Index> rows;
    for (const Eigen::Index row : of_cell_[c])
      if (row >= 0) rows.push_back(row);
    const Eigen::MatrixXd block = inverse(rows, rows);
    const Eigen::VectorXd missed = block.ldlt().solve(Eigen::VectorXd(weighted(rows)));
    result[static_cast<Eigen::Index>(c)] = missed[0];
  }
  return result;
}

FormFit::Predicted FormFit::predict(const Sites& at, bool joint) const {
  return conditioned(at, row_times(*form_, at, point_.z), joint);
}

FormFit::Predicted FormFit::predict_parts(const Sites& at) const {
  // Without events a kernel's row is the whole of T_gpu.
  Eigen::VectorXd z = point_.z;
  z[z.size() - 1] = -std::numeric_limits<double>::infinity();
  RowTimes times = row_times(*form_, at, z);
  times.slopes.rightCols(1).setZero();
  return conditioned(at, times, false);
}

FormFit::Predicted FormFit::conditioned(const Sites& at, const RowTimes& times, bool joint) const {
  const Eigen::MatrixXd known = whiten(
      factor_, sum(Correlations(sites_, at).pieces(weights_, times.weights), point_.amplitudes));
  const Eigen::MatrixXd slope = times.slopes - known.transpose() * jacobian_;
  const Eigen::MatrixXd half = whiten(precision_, Eigen::MatrixXd(slope.transpose()));
  Predicted result{times.log_seconds + times.slopes * step_ + known.transpose() * residuals_,
                   variances(times.weights, point_.amplitudes),
                   {},
                   visit_variances(times.weights, point_.amplitudes)};
  if (joint) {
    result.covariance =
        sum(Correlations(at, at).pieces(times.weights, times.weights), point_.amplitudes) -
        known.transpose() * known + half.transpose() * half;
  }
  result.variance += (half.colwise().squaredNorm() - known.colwise().squaredNorm()).transpose();
  result.variance = result.variance.cwiseMax(least_variance);
  return result;
}

}  // namespace gpucast::fit::components

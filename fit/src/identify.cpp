#include "gpucast/fit/identify.h"

#include <Eigen/Cholesky>
#include <limits>
#include <sstream>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

// Derivatives are exact, so dependent columns leave singular values near 1e-15.
constexpr double rank_tolerance = 1e-8;
constexpr double no_effect = 1e-6;

// Parameters whose change has no measurable effect on any step: one more second would not be
// visible in any step; a number of twice the size changes none. The parts of a norm are like this
// if another one is far larger. `slopes`: d time / d u.
std::vector<bool> without_effect(const model::StepModel& model, const Eigen::MatrixXd& slopes,
                                 const Estimate& estimate) {
  std::vector<bool> result;
  for (const model::Parameter& parameter : model.parameter_list()) {
    const auto at = static_cast<Eigen::Index>(result.size());
    Eigen::ArrayXd effect = slopes.col(at).array().abs();
    if (parameter.is_ratio()) effect *= (estimate.z[at] - estimate.log_fit.array()).exp();
    result.push_back(!parameter.reciprocal && effect.maxCoeff() < no_effect);
  }
  return result;
}

}  // namespace

WeightedJacobian::WeightedJacobian(const model::StepModel& model, const Observations& observations,
                                   const Estimate& estimate, Weighting weighting) {
  Eigen::MatrixXd jacobian = linear_jacobian(model, observations.cells(), estimate.z);
  const std::vector<bool> idle = without_effect(model, jacobian, estimate);
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    double total = 0;
    for (const std::size_t i : observations.samples(j)) {
      const double weight = weighting == Weighting::robust ? estimate.weight[i] : 1.0;
      total += weight / std::pow(sample_sigma(observations, estimate.sigma, j, i), 2);
    }
    const auto row = static_cast<Eigen::Index>(j);
    jacobian.row(row) *= std::sqrt(total) / std::exp(estimate.log_fit[row]);
  }
  norm_ = jacobian.colwise().norm().transpose();
  scale_ = norm_.unaryExpr([](double x) { return x > 0 ? x : 1.0; });
  jacobian = jacobian * scale_.cwiseInverse().asDiagonal();
  for (Eigen::Index i = 0; i < jacobian.cols(); ++i)
    if (idle[static_cast<std::size_t>(i)]) jacobian.col(i).setZero();
  // V is square, so that its last columns span the null space also with fewer cells than
  // parameters.
  if (jacobian.rows() < jacobian.cols()) {
    const Eigen::Index missing = jacobian.cols() - jacobian.rows();
    jacobian.conservativeResize(jacobian.cols(), Eigen::NoChange);
    jacobian.bottomRows(missing).setZero();
  }
  svd_.compute(jacobian, Eigen::ComputeThinU | Eigen::ComputeFullV);
  const Eigen::VectorXd& singular = svd_.singularValues();
  while (rank_ < singular.size() && singular[rank_] > rank_tolerance * singular[0])
    ++rank_;
}

NullSpace::NullSpace(const model::StepModel& model, const Observations& observations,
                     const Estimate& estimate)
    : model_(model), cells_(observations.cells()), log_fit_(estimate.log_fit) {
  const WeightedJacobian jacobian(model, observations, estimate, Weighting::precision);
  const Eigen::MatrixXd null = jacobian.null_space();
  directions_.resize(null.rows(), 0);
  for (Eigen::Index c = 0; c < null.cols(); ++c) {
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(null.rows());
    double largest = 0;
    for (Eigen::Index i = 0; i < null.rows(); ++i) {
      const double part = jacobian.norm()[i] > 0 ? std::abs(null(i, c)) : 0.0;
      largest = std::max(largest, part);
      if (part > 1e-9) direction[i] = null(i, c) / jacobian.scale()[i];
    }
    // A unit vector on a parameter that no cell depends on is a direction too, but nothing bounds
    // it.
    if (largest > 1e-6) {
      directions_.conservativeResize(Eigen::NoChange, directions_.cols() + 1);
      directions_.rightCols(1) = direction;
    }
  }
}

bool NullSpace::equivalent(const Eigen::VectorXd& u) const {
  constexpr double tolerance = 1e-5;
  Eigen::VectorXd log_time(log_fit_.size());
  const Eigen::VectorXd z = u.array().log();
  evaluate(model_, cells_, z.data(), log_time.data(), nullptr);
  return (log_time - log_fit_).cwiseAbs().maxCoeff() < tolerance;
}

Eigen::VectorXd NullSpace::wander(const Eigen::VectorXd& z, int steps, Random& random) const {
  Eigen::VectorXd u = z.array().exp();
  for (int step = 0; step < steps; ++step) {
    // A random direction of the null space; sums of uniforms are close enough to isotropic.
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(u.size());
    for (Eigen::Index c = 0; c < directions_.cols(); ++c) {
      direction +=
          (random.uniform() + random.uniform() + random.uniform() - 1.5) * directions_.col(c);
    }
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    for (Eigen::Index i = 0; i < u.size(); ++i)
      if (direction[i] > 0)
        low = std::max(low, -u[i] / direction[i]);
      else if (direction[i] < 0)
        high = std::min(high, -u[i] / direction[i]);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    // Avoids the boundary: a parameter of exactly 0 has no logarithm.
    const double share = 1e-6 + (1 - 2e-6) * random.uniform();
    const Eigen::VectorXd target = u + (low + share * (high - low)) * direction;
    if ((target.array() > 0).all() && equivalent(target)) u = target;
  }
  return u.array().log();
}

Eigen::VectorXd NullSpace::centre(const Eigen::VectorXd& z) const {
  constexpr int points = 200;
  constexpr int steps_between = 3;
  Random random(1);
  Eigen::VectorXd at = z;
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(z.size());
  for (int point = 0; point < points; ++point) {
    at = wander(at, steps_between, random);
    sum += at.array().exp().matrix();
  }
  return (sum / points).array().log();
}

namespace {

constexpr double zero_coefficient = 1e-6;  // of scaled directions with norm 1

// Reduced row-echelon form by columns from left to right, with row pivoting.
void reduce_rows(Eigen::MatrixXd& rows) {
  Eigen::Index next = 0;
  for (Eigen::Index column = 0; column < rows.cols() && next < rows.rows(); ++column) {
    Eigen::Index pivot = next;
    rows.col(column).tail(rows.rows() - next).cwiseAbs().maxCoeff(&pivot);
    pivot += next;
    if (std::abs(rows(pivot, column)) < zero_coefficient) continue;
    rows.row(next).swap(rows.row(pivot));
    rows.row(next) /= rows(next, column);
    for (Eigen::Index other = 0; other < rows.rows(); ++other)
      if (other != next) rows.row(other) -= rows(other, column) * rows.row(next);
    ++next;
  }
}

// Asymptotic variance of the M-estimate relative to plain least squares with sigma = 1:
// [sum psi^2 / (N - p)] / [sum psi' / N]^2.
double robust_variance(const Observations& observations, const Estimate& estimate) {
  double psi_squared = 0;
  double slope = 0;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    for (const std::size_t i : observations.samples(j)) {
      const double z =
          (observations.log_seconds()[i] - estimate.log_fit[static_cast<Eigen::Index>(j)]) /
          sample_sigma(observations, estimate.sigma, j, i);
      psi_squared += std::pow(z * tukey_weight(z), 2);
      slope += tukey_psi_slope(z);
    }
  }
  const auto samples = static_cast<double>(observations.sample_count());
  const auto parameters = static_cast<double>(estimate.z.size());
  if (samples <= parameters || slope <= 0) return std::numeric_limits<double>::quiet_NaN();
  return psi_squared / (samples - parameters) / std::pow(slope / samples, 2);
}

}  // namespace

std::string Combination::expression(const std::vector<model::Parameter>& parameters) const {
  std::ostringstream text;
  // Coefficients are ratios of small whole numbers (12/16); further digits are noise.
  text.precision(6);
  for (const auto& [index, coefficient] : terms) {
    const model::Parameter& parameter = parameters[index];
    const double magnitude = std::abs(coefficient);
    const bool one = std::abs(magnitude - 1) < 1e-6;
    text << (coefficient < 0 ? " - " : " + ");
    if (parameter.reciprocal || !one) text << magnitude << (parameter.reciprocal ? "/" : " ");
    text << parameter.name;
  }
  // The first term has no space after its sign, and no plus.
  const std::string sum = text.str();
  return sum.starts_with(" - ") ? "-" + sum.substr(3) : sum.substr(3);
}

double Combination::value(const std::vector<model::Parameter>& parameters,
                          const double* values) const {
  double sum = 0;
  for (const auto& [index, coefficient] : terms)
    sum += coefficient * model::linear_coordinate(parameters[index], values[index]);
  return sum;
}

Identification identify(const model::StepModel& model, const Observations& observations,
                        const Estimate& estimate) {
  const auto count = static_cast<Eigen::Index>(model.parameter_count());
  // Robust weights are accounted for by robust_variance, so they do not enter twice.
  const WeightedJacobian jacobian(model, observations, estimate, Weighting::precision);
  const Eigen::VectorXd& scale = jacobian.scale();
  const Eigen::MatrixXd row_space = jacobian.row_space();
  const Eigen::VectorXd singular = jacobian.singular_values();
  const Eigen::VectorXd u = estimate.z.array().exp();
  const double variance = robust_variance(observations, estimate);
  // The information of data and priors in the row space, relative to the variance.
  Eigen::MatrixXd information = singular.cwiseAbs2().asDiagonal();
  for (const NumberPrior& prior : number_priors(model)) {
    const Eigen::VectorXd along =
        row_space.row(prior.at) / (prior.sd * u[prior.at] * scale[prior.at]);
    information += variance * along * along.transpose();
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(information);
  const auto standard_error = [&](const Eigen::VectorXd& direction) {
    const Eigen::VectorXd seen = row_space.transpose() * direction;
    return factor.matrixL().solve(seen).norm() * std::sqrt(variance);
  };

  Identification result;
  result.rank = static_cast<std::size_t>(jacobian.rank());
  const Eigen::MatrixXd share = estimate.log_fit.array().exp().inverse().matrix().asDiagonal() *
                                linear_jacobian(model, observations.cells(), estimate.z) *
                                u.asDiagonal();
  for (Eigen::Index i = 0; i < count; ++i) {
    // Part of the unit direction outside the row space: how far a null direction moves it.
    const double outside = std::sqrt(std::max(0.0, 1 - row_space.row(i).squaredNorm()));
    const bool identified = jacobian.norm()[i] > 0 && outside < zero_coefficient;
    // A larger pure number may mean less time, like the p of a norm.
    result.largest_share.push_back(share.col(i).cwiseAbs().maxCoeff());
    result.observed.push_back(jacobian.norm()[i] > 0);
    result.identified.push_back(identified);
    result.relative_error.push_back(identified ? standard_error(Eigen::VectorXd::Unit(count, i)) /
                                                     scale[i] / u[i]
                                               : std::numeric_limits<double>::quiet_NaN());
  }

  Eigen::MatrixXd rows = row_space.transpose();
  reduce_rows(rows);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    Combination combination;
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      if (std::abs(rows(r, i)) > zero_coefficient) {
        direction[i] = rows(r, i);
        combination.terms.emplace_back(static_cast<std::size_t>(i), rows(r, i) * scale[i]);
      }
    }
    if (combination.terms.size() < 2) continue;  // a parameter identified alone
    const double leading = combination.terms.front().second;
    for (auto& term : combination.terms)
      term.second /= leading;
    result.combination_error.push_back(standard_error(direction) / std::abs(leading));
    result.combinations.push_back(std::move(combination));
  }
  return result;
}

}  // namespace gpucast::fit

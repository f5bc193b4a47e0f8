#include "gpucast/fit/identify.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <sstream>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/robust.h"
#include "gpucast/fit/weighted_jacobian.h"

namespace gpucast::fit {

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

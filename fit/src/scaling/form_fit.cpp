#include "gpucast/fit/scaling/form_fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace gpucast::fit::scaling {

namespace {

constexpr double converged = 1e-5;    // change of the log posterior
constexpr double longest_step = 3.0;  // of a log coefficient, an iteration
constexpr int most_retries = 8;

// Priors of the log coefficients: normal, from the largest share that a term may have of any time.
struct Prior {
  Eigen::VectorXd mean;
  Eigen::VectorXd precision;
  double log_sd = 0;  // sum over the terms
};

// Of a term that no measured cell has, as exchange where all ran on one GPU: the data say nothing
// of it, and its share is taken to be what the prior says on four times the GPUs, where steps that
// scale half as well as they might take half as long.
double largest_share_of_unseen(std::size_t term, const model::scaling::Form& form,
                               const Cells& cells) {
  double largest = std::numeric_limits<double>::min();
  for (Eigen::Index i = 0; i < cells.size(); ++i) {
    auto scale = cells.scale(i, form.growth);
    scale.gpus *= 4;
    const double seconds = std::exp(cells.log_seconds[i]) / 2;
    largest = std::max(largest, model::scaling::terms[term].shape(scale) / seconds);
  }
  return largest;
}

Prior prior_of(const model::scaling::Form& form, const Eigen::MatrixXd& shapes, const Cells& cells,
               const Priors& priors) {
  const Eigen::Index count = shapes.cols();
  Prior prior{Eigen::VectorXd(count), Eigen::VectorXd(count), 0};
  const Eigen::VectorXd rate = (-cells.log_seconds.array()).exp();
  for (Eigen::Index k = 0; k < count; ++k) {
    const std::size_t term = form.terms[static_cast<std::size_t>(k)];
    const LogNormal share = priors.share_of(term);
    const double largest = shapes.col(k).cwiseProduct(rate).maxCoeff();
    prior.mean[k] = share.log_median -
                    std::log(largest > 0 ? largest : largest_share_of_unseen(term, form, cells));
    prior.precision[k] = 1 / (share.log_sd * share.log_sd);
    prior.log_sd += std::log(share.log_sd);
  }
  return prior;
}

// A point of the iteration.
struct At {
  Eigen::VectorXd log_coefficients;
  Eigen::VectorXd residuals;
  Eigen::MatrixXd shares;
  double cost;  // half of chi^2, the prior's included
};

}  // namespace

Eigen::MatrixXd shapes(const model::scaling::Form& form, const Cells& cells) {
  Eigen::MatrixXd result(cells.size(), static_cast<Eigen::Index>(form.terms.size()));
  for (Eigen::Index i = 0; i < cells.size(); ++i) {
    const auto scale = cells.scale(i, form.growth);
    for (Eigen::Index k = 0; k < result.cols(); ++k) {
      result(i, k) = model::scaling::terms[form.terms[static_cast<std::size_t>(k)]].shape(scale);
    }
  }
  return result;
}

FormTimes form_times(const model::scaling::Form& form, const Eigen::MatrixXd& shapes,
                     const Eigen::VectorXd& log_coefficients) {
  FormTimes result{Eigen::VectorXd(shapes.rows()), Eigen::MatrixXd(shapes.rows(), shapes.cols())};
  const Eigen::VectorXd coefficients = log_coefficients.array().exp();
  std::vector<double> part(static_cast<std::size_t>(shapes.cols()));
  for (Eigen::Index i = 0; i < shapes.rows(); ++i) {
    Eigen::Map<Eigen::RowVectorXd> row(part.data(), shapes.cols());
    row = shapes.row(i).cwiseProduct(coefficients.transpose());
    const double seconds = combine(form, part);
    result.log_seconds[i] = std::log(seconds);
    result.shares.row(i) = row / seconds;
  }
  return result;
}

FormFit fit_form(const model::scaling::Form& form, const Eigen::MatrixXd& shapes,
                 const Cells& cells, const Process& process, const Priors& priors,
                 const Eigen::VectorXd* start, int most_iterations) {
  const Prior prior = prior_of(form, shapes, cells, priors);
  const auto evaluate = [&](Eigen::VectorXd log_coefficients) {
    FormTimes times = form_times(form, shapes, log_coefficients);
    At at{std::move(log_coefficients), process.whiten(cells.log_seconds - times.log_seconds),
          std::move(times.shares), 0};
    const Eigen::ArrayXd off = at.log_coefficients - prior.mean;
    at.cost = .5 * at.residuals.squaredNorm() + .5 * (off.square() * prior.precision.array()).sum();
    return at;
  };
  At at = evaluate(start != nullptr ? *start : prior.mean);
  Eigen::MatrixXd jacobian;
  Eigen::MatrixXd precision;
  const auto linearize = [&] {
    jacobian = process.whiten(at.shares);
    precision = jacobian.transpose() * jacobian;
    precision.diagonal() += prior.precision;
  };
  double damping = 1e-3;
  bool done = !std::isfinite(at.cost);
  for (int i = 0; i < most_iterations && !done; ++i) {
    linearize();
    const Eigen::VectorXd ascent = jacobian.transpose() * at.residuals -
                                   (at.log_coefficients - prior.mean).cwiseProduct(prior.precision);
    done = true;  // unless a step is found
    for (int retry = 0; retry < most_retries; ++retry) {
      Eigen::MatrixXd damped = precision;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd step =
          damped.llt().solve(ascent).cwiseMax(-longest_step).cwiseMin(longest_step);
      At next = evaluate(at.log_coefficients + step);
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
  return {std::move(at.log_coefficients), std::move(at.residuals), std::move(jacobian),
          std::move(precision), log_evidence};
}

}  // namespace gpucast::fit::scaling

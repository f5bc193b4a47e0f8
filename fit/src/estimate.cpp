#include "gpucast/fit/estimate.h"

#include <ceres/tiny_solver.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/nnls.h"
#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

constexpr double sigma_floor = 1e-5;  // clocks resolve no better; keeps exact data solvable

// A group this small cannot tell its own scale: blend with a typical one, counted as one sample.
constexpr std::size_t few_samples = 8;
constexpr double typical_sigma = 0.03;

// Fits whose tolerance is at least this are compared with others, not reported.
constexpr double compared = 1e-6;

// Range of a parameter around the largest value the data admit (see `admitted`): far enough down
// that its share of every time is below rounding.
constexpr double smallest_share = 1e-9;

// The weighted problem, one residual a cell, as TinySolver wants it.
class WeightedCells {
 public:
  using Scalar = double;
  enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

  WeightedCells(const model::StepModel& model, const std::vector<Cell>& cells, Times times)
      : log_times(model, cells, times),
        parameters_(static_cast<int>(model.parameter_count())),
        root_weight(static_cast<Eigen::Index>(cells.size())),
        mean(static_cast<Eigen::Index>(cells.size())) {}

  int NumResiduals() const { return static_cast<int>(mean.size()); }
  int NumParameters() const { return parameters_; }

  bool operator()(const double* z, double* residuals, double* jacobian) const {
    log_times(z, residuals, jacobian);
    Eigen::Map<Eigen::VectorXd> r(residuals, NumResiduals());
    r = (r - mean).cwiseProduct(root_weight);
    if (jacobian != nullptr) {
      Eigen::Map<Eigen::MatrixXd> j(jacobian, NumResiduals(), NumParameters());
      j = root_weight.asDiagonal() * j;
    }
    return true;
  }

  const LogTimes log_times;

 private:
  int parameters_;

 public:
  Eigen::VectorXd root_weight;  // square root of the summed weights of the cell's samples
  Eigen::VectorXd mean;         // their weighted mean log time
};

// Largest linear coordinate of each parameter that leaves no cell slower than measured: every term
// of a time is positive. 1 for a parameter that no cell depends on.
Eigen::VectorXd admitted(const Eigen::MatrixXd& basis, const Eigen::VectorXd& seconds) {
  Eigen::VectorXd largest = Eigen::VectorXd::Ones(basis.cols());
  for (Eigen::Index i = 0; i < basis.cols(); ++i) {
    double bound = std::numeric_limits<double>::infinity();
    for (Eigen::Index j = 0; j < basis.rows(); ++j) {
      if (basis(j, i) > 0) {
        bound = std::min(bound, seconds[j] / basis(j, i));
      }
    }
    if (std::isfinite(bound)) {
      largest[i] = bound;
    }
  }
  return largest;
}

// Cell times with every parameter at 1 give the coefficients of times that are linear in the
// parameters; ratios stay at 1.
Eigen::MatrixXd linear_basis(const model::StepModel& model, const std::vector<Cell>& cells) {
  const auto count = static_cast<Eigen::Index>(model.parameter_count());
  Eigen::MatrixXd basis = linear_jacobian(model.linear(), cells, Eigen::VectorXd::Zero(count));
  for (Eigen::Index i = 0; i < count; ++i) {
    if (model.parameter_list()[static_cast<std::size_t>(i)].is_ratio()) {
      basis.col(i).setZero();
    }
  }
  return basis;
}

Eigen::VectorXd median_seconds(const Observations& observations) {
  Eigen::VectorXd seconds(static_cast<Eigen::Index>(observations.cell_count()));
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    seconds[static_cast<Eigen::Index>(j)] = std::exp(observations.median_log(j));
  }
  return seconds;
}

// Medians, of skeletons without what they take whatever the parameters are: busy GPUs.
Eigen::VectorXd seconds_to_explain(const model::StepModel& model, const Observations& observations,
                                   const Eigen::MatrixXd& basis) {
  Eigen::VectorXd measured = median_seconds(observations);
  const auto& cells = observations.cells();
  if (std::ranges::none_of(cells, [](const Cell& cell) { return cell.kind == Kind::skeleton; })) {
    return measured;
  }
  const Eigen::VectorXd ones =
      Eigen::VectorXd::Zero(basis.cols());  // logarithms of parameters at 1
  Eigen::VectorXd log_time(basis.rows());
  evaluate(model.linear(), cells, ones.data(), log_time.data(), nullptr);
  const Eigen::VectorXd known = log_time.array().exp().matrix() - basis.rowwise().sum();
  constexpr double least_share = 0.01;  // noise may leave nothing
  Eigen::VectorXd rest = measured;
  for (Eigen::Index j = 0; j < rest.size(); ++j) {
    if (cells[static_cast<std::size_t>(j)].kind == Kind::skeleton) {
      rest[j] = std::max(measured[j] - known[j], least_share * measured[j]);
    }
  }
  return rest;
}

Eigen::VectorXd admitted(const model::StepModel& model, const Observations& observations) {
  const Eigen::MatrixXd basis = linear_basis(model, observations.cells());
  return admitted(basis, seconds_to_explain(model, observations, basis));
}

std::vector<double> residuals_of(const Observations& observations, const Eigen::VectorXd& log_fit) {
  std::vector<double> residual(observations.sample_count());
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    for (std::size_t i = observations.first(j); i < observations.first(j + 1); ++i) {
      residual[i] = observations.log_seconds()[i] - log_fit[static_cast<Eigen::Index>(j)];
    }
  }
  return residual;
}

Scales scales_of(const Observations& observations, const std::vector<double>& residual,
                 std::size_t parameter_count) {
  // Fitted residuals are smaller than errors by the parameters that followed the noise.
  const auto samples = static_cast<double>(observations.sample_count());
  const double freedom = samples > static_cast<double>(parameter_count)
                             ? std::sqrt(samples / (samples - static_cast<double>(parameter_count)))
                             : 1.0;
  std::array<std::vector<double>, group_count> by_group;
  std::array<std::vector<double>, group_count> known;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    const std::size_t g = group(observations.cells()[j]);
    for (std::size_t i = observations.first(j); i < observations.first(j + 1); ++i) {
      by_group[g].push_back(residual[i] * freedom);
      known[g].push_back(observations.rounding_variance()[i]);
    }
  }
  Scales sigma{};
  for (std::size_t g = 0; g < group_count; ++g) {
    const std::size_t count = by_group[g].size();
    if (count == 0) {
      continue;
    }
    sigma[g] = mad_scale(by_group[g], known[g], sigma_floor);
    if (count < few_samples) {
      const auto weight = static_cast<double>(count);
      sigma[g] =
          std::sqrt((weight * sigma[g] * sigma[g] + typical_sigma * typical_sigma) / (weight + 1));
    }
  }
  return sigma;
}

template <class Weight>
void weigh(const Observations& observations, const Eigen::VectorXd& log_fit, const Scales& sigma,
           const Weight& weight_of, std::vector<double>& weight, WeightedCells& problem) {
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    double total = 0;
    double weighted = 0;
    for (std::size_t i = observations.first(j); i < observations.first(j + 1); ++i) {
      const double s = sample_sigma(observations, sigma, j, i);
      const double y = observations.log_seconds()[i];
      weight[i] = weight_of((y - log_fit[row]) / s);
      total += weight[i] / (s * s);
      weighted += weight[i] / (s * s) * y;
    }
    problem.root_weight[row] = std::sqrt(total);
    problem.mean[row] = total > 0 ? weighted / total : log_fit[row];
  }
}

class Refiner {
 public:
  Refiner(const model::StepModel& model, const Observations& observations, Times times)
      : observations_(observations),
        problem_(model, observations.cells(), times),
        largest_(admitted(model, observations).array().log()) {
    solver_.options.max_num_iterations = 10;
    solver_.options.function_tolerance = 1e-11;
    solver_.options.parameter_tolerance = 1e-12;
    solver_.options.gradient_tolerance = 1e-12;
  }

  // One reweighting and solve; returns the largest change of a cell's log time.
  template <class Weight>
  double refine(Estimate& state, const Weight& weight_of) {
    weigh(observations_, state.log_fit, state.sigma, weight_of, state.weight, problem_);
    solver_.Solve(problem_, &state.z);
    state.z =
        state.z
            .cwiseMin(largest_.array().matrix() + Eigen::VectorXd::Constant(largest_.size(), 3.0))
            .cwiseMax(largest_ +
                      Eigen::VectorXd::Constant(largest_.size(), std::log(smallest_share)));
    const Eigen::VectorXd before = state.log_fit;
    predict(state);
    return (state.log_fit - before).cwiseAbs().maxCoeff();
  }

  void predict(Estimate& state) const {
    state.log_fit.resize(static_cast<Eigen::Index>(observations_.cell_count()));
    problem_.log_times(state.z.data(), state.log_fit.data(), nullptr);
  }

 private:
  const Observations& observations_;
  WeightedCells problem_;
  Eigen::VectorXd largest_;
  ceres::TinySolver<WeightedCells> solver_;
};

}  // namespace

double sample_sigma(const Observations& observations, const Scales& scales, std::size_t cell,
                    std::size_t sample) {
  const double sigma = scales[group(observations.cells()[cell])];
  return std::sqrt(sigma * sigma + observations.rounding_variance()[sample]);
}

Eigen::VectorXd start_values(const model::StepModel& model, const Observations& observations) {
  const Eigen::MatrixXd basis = linear_basis(model, observations.cells());
  const Eigen::VectorXd seconds = seconds_to_explain(model, observations, basis);
  const Eigen::VectorXd largest = admitted(basis, seconds);
  // Entry (j, i): share of cell j's time if parameter i were as large as admitted.
  const Eigen::MatrixXd share = seconds.cwiseInverse().asDiagonal() * basis * largest.asDiagonal();

  // A cell whose median is itself disturbed must not decide the start: Huber weights, few rounds.
  Eigen::VectorXd root_weight = Eigen::VectorXd::Ones(share.rows());
  Eigen::VectorXd solution;
  for (int round = 0; round < 4; ++round) {
    solution = nnls(root_weight.asDiagonal() * share, root_weight);
    const Eigen::VectorXd residual = share * solution - Eigen::VectorXd::Ones(share.rows());
    const Eigen::VectorXd magnitude = residual.cwiseAbs();
    const double scale = std::max(1e-6, median({magnitude.begin(), magnitude.end()}) / normal_mad);
    for (Eigen::Index j = 0; j < residual.size(); ++j) {
      root_weight[j] = std::sqrt(huber_weight(residual[j] / scale));
    }
  }
  constexpr double share_of_zero = 1e-3;
  Eigen::VectorXd start = largest.cwiseProduct(solution.cwiseMax(share_of_zero)).array().log();
  for (Eigen::Index i = 0; i < start.size(); ++i) {
    if (model.parameter_list()[static_cast<std::size_t>(i)].is_ratio()) {
      start[i] = 0;
    }
  }
  return start;
}

Estimate estimate(const model::StepModel& model, const Observations& observations,
                  const Eigen::VectorXd& start, const std::optional<Scales>& scales,
                  double tolerance, Loss loss, Times times) {
  constexpr int huber_rounds = 30;
  constexpr double rough = 1e-4;  // the Huber stage is only a way to the Tukey one
  // A fit that is only compared and does not settle is a poor one: its like are many.
  const int tukey_rounds = tolerance < compared ? 200 : 30;

  Refiner refiner(model, observations, times);
  Estimate state;
  state.z = start;
  state.weight.assign(observations.sample_count(), 1.0);
  refiner.predict(state);
  const auto rescale = [&] {
    state.sigma =
        scales_of(observations, residuals_of(observations, state.log_fit), model.parameter_count());
  };
  if (scales) {
    state.sigma = *scales;
  } else {
    rescale();
    for (int round = 0; round < huber_rounds; ++round) {
      const double change = refiner.refine(state, huber_weight);
      rescale();
      if (change < rough) {
        break;
      }
    }
  }
  if (loss == Loss::huber) {
    return state;
  }
  for (int round = 0; round < tukey_rounds && !state.converged; ++round) {
    state.converged = refiner.refine(state, tukey_weight) < tolerance;
  }
  const Scales found = state.sigma;
  return with_scales(std::move(state), observations, found);
}

Estimate start_estimate(const model::StepModel& model, const Observations& observations) {
  Estimate state;
  state.z = start_values(model, observations);
  state.weight.assign(observations.sample_count(), 1.0);
  state.log_fit.resize(static_cast<Eigen::Index>(observations.cell_count()));
  evaluate(model, observations.cells(), state.z.data(), state.log_fit.data(), nullptr);
  state.sigma =
      scales_of(observations, residuals_of(observations, state.log_fit), model.parameter_count());
  return state;
}

Estimate with_scales(Estimate estimate, const Observations& observations, const Scales& scales) {
  estimate.sigma = scales;
  estimate.cost = 0;
  const std::vector<double> residual = residuals_of(observations, estimate.log_fit);
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    for (std::size_t i = observations.first(j); i < observations.first(j + 1); ++i) {
      const double z = residual[i] / sample_sigma(observations, scales, j, i);
      estimate.weight[i] = tukey_weight(z);
      estimate.cost += tukey_cost(z);
    }
  }
  return estimate;
}

}  // namespace gpucast::fit

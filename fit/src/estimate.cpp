#include "gpucast/fit/estimate.h"

#include <ceres/tiny_solver.h>
#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "gpucast/fit/robust.h"

namespace gpucast::fit {

namespace {

constexpr double sigma_floor = 1e-5;  // limit of clocks; keeps exact data solvable

// A group this small does not determine its own scale: it is averaged with a typical one, which
// counts as one sample.
constexpr std::size_t few_samples = 8;
constexpr double typical_sigma = 0.03;

// Fits with at least this tolerance are compared with others, not reported.
constexpr double compared = 1e-6;

// Range of a parameter around the largest value the data admit (see `admitted`): far enough down
// that its share of every time is below rounding.
constexpr double smallest_share = 1e-9;
constexpr double log_beyond_admitted = 3;

// Bounds of the parameters in log linear coordinates.
struct Box {
  Eigen::VectorXd lowest;
  Eigen::VectorXd highest;

  Eigen::VectorXd nearest(const Eigen::VectorXd& z) const {
    return z.cwiseMin(highest).cwiseMax(lowest);
  }
};

// The weighted problem in the form for TinySolver, one residual per cell and one per prior. A
// parameter has no effect beyond its bounds, nor at a bound that it is pushed against: otherwise a
// step for a parameter whose share of every time is below rounding has no limit, and takes others
// with it or ends where a time has no derivative.
struct WeightedCells {
  using Scalar = double;
  enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

  WeightedCells(const model::StepModel& model, const std::vector<Cell>& cells, Times times,
                Numbers numbers, std::vector<NumberPrior> priors_of_numbers, Box range)
      : log_times(model, cells, times),
        parameters(static_cast<int>(model.parameter_count())),
        hold(numbers == Numbers::held),
        root_weight(static_cast<Eigen::Index>(cells.size())),
        mean(static_cast<Eigen::Index>(cells.size())),
        priors(std::move(priors_of_numbers)),
        box(std::move(range)) {}

  int NumResiduals() const {
    return static_cast<int>(mean.size()) + static_cast<int>(priors.size());
  }
  int NumParameters() const { return parameters; }

  bool operator()(const double* asked, double* residuals, double* jacobian) const {
    const Eigen::Index cells = mean.size();
    const Eigen::Map<const Eigen::VectorXd> wanted(asked, parameters);
    const Eigen::VectorXd inside = box.nearest(wanted);
    const double* z = inside.data();
    Eigen::MatrixXd slopes;
    if (jacobian != nullptr) slopes.resize(cells, parameters);
    log_times(z, residuals, jacobian == nullptr ? nullptr : slopes.data());
    Eigen::Map<Eigen::VectorXd> r(residuals, NumResiduals());
    r.head(cells) = (r.head(cells) - mean).cwiseProduct(root_weight);
    for (std::size_t i = 0; i < priors.size(); ++i)
      r[cells + static_cast<Eigen::Index>(i)] = priors[i].off(z);
    if (jacobian != nullptr) {
      Eigen::Map<Eigen::MatrixXd> j(jacobian, NumResiduals(), NumParameters());
      j.topRows(cells) = root_weight.asDiagonal() * slopes;
      j.bottomRows(NumResiduals() - cells).setZero();
      for (std::size_t i = 0; i < priors.size(); ++i) {
        j(cells + static_cast<Eigen::Index>(i), priors[i].at) = 1 / priors[i].sd;
        if (hold) j.col(priors[i].at).setZero();
      }
      for (Eigen::Index i = 0; i < parameters; ++i) {
        const double uphill = j.col(i).dot(r);
        const bool at_end = (wanted[i] <= box.lowest[i] && uphill >= 0) ||
                            (wanted[i] >= box.highest[i] && uphill <= 0);
        if (at_end || wanted[i] != inside[i]) j.col(i).setZero();
      }
    }
    return true;
  }

  LogTimes log_times;
  int parameters;
  bool hold;                    // whether pure numbers stay fixed
  Eigen::VectorXd root_weight;  // square root of the summed weights of the cell's samples
  Eigen::VectorXd mean;         // their weighted mean log time
  std::vector<NumberPrior> priors;
  Box box;
};

// The origin of start values, in log linear coordinates: pure numbers at their prior medians, with
// which the rest is linear, and everything else at 1.
Eigen::VectorXd origin(const model::StepModel& model) {
  const auto& list = model.parameter_list();
  Eigen::VectorXd z = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(list.size()));
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].is_ratio()) z[static_cast<Eigen::Index>(i)] = std::log(list[i].prior.median);
  return z;
}

// Largest linear coordinate of each parameter that leaves no cell slower than measured: every term
// of a time is positive. 1 for a parameter that no cell depends on.
Eigen::VectorXd admitted(const Eigen::MatrixXd& basis, const Eigen::VectorXd& seconds) {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  Eigen::VectorXd largest(basis.cols());
  for (Eigen::Index i = 0; i < basis.cols(); ++i) {
    const auto column = basis.col(i).array();
    const double bound = (column > 0).select(seconds.array() / column, unbounded).minCoeff();
    largest[i] = bound < unbounded ? bound : 1.0;
  }
  return largest;
}

// Cell times at the origin give the coefficients of times that are linear in the parameters; pure
// numbers stay fixed.
Eigen::MatrixXd linear_basis(const model::StepModel& model, const std::vector<Cell>& cells) {
  Eigen::MatrixXd basis = linear_jacobian(model.linear(), cells, origin(model));
  for (Eigen::Index i = 0; i < basis.cols(); ++i)
    if (model.parameter_list()[static_cast<std::size_t>(i)].is_ratio()) basis.col(i).setZero();
  return basis;
}

// Medians; those of skeletons without the given kernel times, which do not depend on parameters.
Eigen::VectorXd seconds_to_explain(const model::StepModel& model, const Observations& observations,
                                   const Eigen::MatrixXd& basis) {
  constexpr double least_share = 0.01;  // noise may leave nothing
  const auto& cells = observations.cells();
  const auto is_skeleton = [](const Cell& cell) { return cell.kind == Kind::skeleton; };
  Eigen::VectorXd known = Eigen::VectorXd::Zero(basis.rows());
  if (std::ranges::any_of(cells, is_skeleton)) {
    const Eigen::VectorXd at = origin(model);
    evaluate(model.linear(), cells, at.data(), known.data(), nullptr);
    known = known.array().exp().matrix() - basis.rowwise().sum();
  }
  Eigen::VectorXd rest(basis.rows());
  for (Eigen::Index j = 0; j < rest.size(); ++j) {
    const auto cell = static_cast<std::size_t>(j);
    const double measured = std::exp(observations.median_log(cell));
    rest[j] =
        is_skeleton(cells[cell]) ? std::max(measured - known[j], least_share * measured) : measured;
  }
  return rest;
}

Eigen::VectorXd admitted(const model::StepModel& model, const Observations& observations) {
  const Eigen::MatrixXd basis = linear_basis(model, observations.cells());
  const Eigen::VectorXd largest = admitted(basis, seconds_to_explain(model, observations, basis));
  // Times do not bound a pure number; it stays near its prior median.
  return largest.cwiseProduct(origin(model).array().exp().matrix());
}

Box box_of(const model::StepModel& model, const Observations& observations) {
  const Eigen::VectorXd largest = admitted(model, observations).array().log();
  return {largest.array() + std::log(smallest_share), largest.array() + log_beyond_admitted};
}

Scales scales_of(const Observations& observations, const Eigen::VectorXd& log_fit,
                 std::size_t parameter_count) {
  // Fitted residuals are smaller than errors because parameters have followed the noise.
  const auto samples = static_cast<double>(observations.sample_count());
  const double freedom = samples > static_cast<double>(parameter_count)
                             ? std::sqrt(samples / (samples - static_cast<double>(parameter_count)))
                             : 1.0;
  std::array<std::vector<double>, group_count> by_group;
  std::array<std::vector<double>, group_count> known;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    const std::size_t g = group(observations.cells()[j]);
    for (const std::size_t i : observations.samples(j)) {
      const double residual = observations.log_seconds()[i] - log_fit[static_cast<Eigen::Index>(j)];
      by_group[g].push_back(residual * freedom);
      known[g].push_back(observations.rounding_variance()[i]);
    }
  }
  Scales sigma{};
  for (std::size_t g = 0; g < group_count; ++g) {
    const std::size_t count = by_group[g].size();
    if (count == 0) continue;
    sigma[g] = mad_scale(by_group[g], known[g], sigma_floor);
    if (count < few_samples) {
      const auto weight = static_cast<double>(count);
      sigma[g] =
          std::sqrt((weight * sigma[g] * sigma[g] + typical_sigma * typical_sigma) / (weight + 1));
    }
  }
  return sigma;
}

class Refiner {
 public:
  Refiner(const model::StepModel& model, const Observations& observations, Times times,
          Numbers numbers, std::vector<NumberPrior> priors)
      : observations_(observations),
        problem_(model, observations.cells(), times, numbers, std::move(priors),
                 box_of(model, observations)) {
    solver_.options.max_num_iterations = 10;
    solver_.options.function_tolerance = 1e-11;
    solver_.options.parameter_tolerance = 1e-12;
    solver_.options.gradient_tolerance = 1e-12;
  }

  // One reweighting and solve; returns the largest change of a cell's log time.
  template <double (*weight_of)(double)>
  double refine(Estimate& state) {
    use(state.sigma);
    weigh<weight_of>(state);
    solver_.Solve(problem_, &state.z);
    state.z = problem_.box.nearest(state.z);
    const Eigen::VectorXd before = state.log_fit;
    predict(state);
    return (state.log_fit - before).cwiseAbs().maxCoeff();
  }

  void predict(Estimate& state) const {
    state.log_fit.resize(static_cast<Eigen::Index>(observations_.cell_count()));
    problem_.log_times(state.z.data(), state.log_fit.data(), nullptr);
  }

 private:
  // Scales, and the samples' standard deviations with them, are kept for many rounds.
  void use(const Scales& scales) {
    if (scales == scales_) return;
    scales_ = scales;
    sigma_.resize(observations_.sample_count());
    for (std::size_t j = 0; j < observations_.cell_count(); ++j)
      for (const std::size_t i : observations_.samples(j))
        sigma_[i] = sample_sigma(observations_, scales, j, i);
  }

  template <double (*weight_of)(double)>
  void weigh(Estimate& state) {
    for (std::size_t j = 0; j < observations_.cell_count(); ++j) {
      const auto row = static_cast<Eigen::Index>(j);
      double total = 0;
      double weighted = 0;
      for (const std::size_t i : observations_.samples(j)) {
        const double y = observations_.log_seconds()[i];
        state.weight[i] = weight_of((y - state.log_fit[row]) / sigma_[i]);
        const double precision = state.weight[i] / (sigma_[i] * sigma_[i]);
        total += precision;
        weighted += precision * y;
      }
      problem_.root_weight[row] = std::sqrt(total);
      problem_.mean[row] = total > 0 ? weighted / total : state.log_fit[row];
    }
  }

  const Observations& observations_;
  WeightedCells problem_;
  Scales scales_{};
  std::vector<double> sigma_;  // of each sample
  ceres::TinySolver<WeightedCells> solver_;
};

}  // namespace

std::vector<NumberPrior> number_priors(const model::StepModel& model,
                                       const Eigen::VectorXd& plausible) {
  std::vector<NumberPrior> result;
  const auto& list = model.parameter_list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_ratio()) continue;
    const auto at = static_cast<Eigen::Index>(i);
    const double centre = plausible.size() > 0 ? plausible[at] : std::log(list[i].prior.median);
    result.push_back({at, centre, list[i].prior.log_sd});
  }
  return result;
}

double cost(const std::vector<NumberPrior>& priors, const Eigen::VectorXd& z) {
  double sum = 0;
  for (const NumberPrior& prior : priors)
    sum += .5 * prior.off(z.data()) * prior.off(z.data());
  return sum;
}

double sample_sigma(const Observations& observations, const Scales& scales, std::size_t cell,
                    std::size_t sample) {
  const double sigma = scales[group(observations.cells()[cell])];
  return std::sqrt(sigma * sigma + observations.rounding_variance()[sample]);
}

Eigen::VectorXd start_values(const model::StepModel& model, const Observations& observations) {
  const Eigen::MatrixXd basis = linear_basis(model, observations.cells());
  const Eigen::VectorXd seconds = seconds_to_explain(model, observations, basis);
  const Eigen::VectorXd largest = admitted(basis, seconds);
  // Entry (j, i): share of cell j's time if parameter i had its largest admitted value.
  const Eigen::MatrixXd share = seconds.cwiseInverse().asDiagonal() * basis * largest.asDiagonal();

  // A cell whose median is itself disturbed must not decide the start: Huber weights, few rounds.
  Eigen::VectorXd root_weight = Eigen::VectorXd::Ones(share.rows());
  Eigen::VectorXd solution;
  for (int round = 0; round < 4; ++round) {
    solution = nnls(root_weight.asDiagonal() * share, root_weight);
    const Eigen::VectorXd residual = share * solution - Eigen::VectorXd::Ones(share.rows());
    const Eigen::VectorXd magnitude = residual.cwiseAbs();
    const double scale = std::max(1e-6, median({magnitude.begin(), magnitude.end()}) / normal_mad);
    for (Eigen::Index j = 0; j < residual.size(); ++j)
      root_weight[j] = std::sqrt(huber_weight(residual[j] / scale));
  }
  constexpr double share_of_zero = 1e-3;
  Eigen::VectorXd start = largest.cwiseProduct(solution.cwiseMax(share_of_zero)).array().log();
  const Eigen::VectorXd at = origin(model);
  for (Eigen::Index i = 0; i < start.size(); ++i)
    if (model.parameter_list()[static_cast<std::size_t>(i)].is_ratio()) start[i] = at[i];
  return start;
}

Estimate estimate(const model::StepModel& model, const Observations& observations,
                  const Eigen::VectorXd& start, const std::optional<Scales>& scales,
                  double tolerance, Loss loss, Times times, Numbers numbers,
                  const Eigen::VectorXd& plausible) {
  constexpr int huber_rounds = 30;
  constexpr double rough = 1e-4;  // the Huber stage only prepares the Tukey one
  // A compared fit that does not converge is a poor one, and there are many of them.
  const int tukey_rounds = tolerance < compared ? 200 : 30;

  const std::vector<NumberPrior> priors = number_priors(model, plausible);
  Refiner refiner(model, observations, times, numbers, priors);
  Estimate state;
  state.z = start;
  state.weight.assign(observations.sample_count(), 1.0);
  refiner.predict(state);
  const auto rescale = [&] {
    state.sigma = scales_of(observations, state.log_fit, model.parameter_count());
  };
  if (scales) {
    state.sigma = *scales;
  } else {
    rescale();
    for (int round = 0; round < huber_rounds; ++round) {
      const double change = refiner.refine<huber_weight>(state);
      rescale();
      if (change < rough) break;
    }
  }
  if (loss == Loss::huber) return state;
  for (int round = 0; round < tukey_rounds && !state.converged; ++round)
    state.converged = refiner.refine<tukey_weight>(state) < tolerance;
  const Scales new_scales = state.sigma;
  state = with_scales(std::move(state), observations, new_scales);
  state.cost += cost(priors, state.z);
  return state;
}

Estimate start_estimate(const model::StepModel& model, const Observations& observations) {
  Estimate state;
  state.z = start_values(model, observations);
  state.weight.assign(observations.sample_count(), 1.0);
  state.log_fit.resize(static_cast<Eigen::Index>(observations.cell_count()));
  evaluate(model, observations.cells(), state.z.data(), state.log_fit.data(), nullptr);
  state.sigma = scales_of(observations, state.log_fit, model.parameter_count());
  return state;
}

Estimate with_scales(Estimate estimate, const Observations& observations, const Scales& scales) {
  estimate.sigma = scales;
  estimate.cost = 0;
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    for (const std::size_t i : observations.samples(j)) {
      const double residual =
          observations.log_seconds()[i] - estimate.log_fit[static_cast<Eigen::Index>(j)];
      const double z = residual / sample_sigma(observations, scales, j, i);
      estimate.weight[i] = tukey_weight(z);
      estimate.cost += tukey_cost(z);
    }
  }
  return estimate;
}

namespace {

// Least squares over the columns in `passive` only; zero elsewhere.
Eigen::VectorXd solve_passive(const Eigen::MatrixXd& a, const Eigen::VectorXd& b,
                              const std::vector<Eigen::Index>& passive) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a.cols());
  const Eigen::VectorXd part = a(Eigen::all, passive).colPivHouseholderQr().solve(b);
  x(passive) = part;
  return x;
}

}  // namespace

Eigen::VectorXd nnls(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a.cols());
  std::vector<Eigen::Index> passive;
  const Eigen::VectorXd column_norm = a.colwise().norm().transpose();
  const double tolerance = 1e-10 * b.norm();
  // Each round adds one column; 3 n rounds is Lawson & Hanson's own limit.
  for (Eigen::Index round = 0; round < 3 * a.cols(); ++round) {
    const Eigen::VectorXd gradient = a.transpose() * (b - a * x);
    Eigen::Index entering = -1;
    double steepest = tolerance;
    for (Eigen::Index i = 0; i < a.cols(); ++i) {
      const bool is_passive = std::ranges::find(passive, i) != passive.end();
      if (!is_passive && column_norm[i] > 0 && gradient[i] / column_norm[i] > steepest) {
        steepest = gradient[i] / column_norm[i];
        entering = i;
      }
    }
    if (entering < 0) break;
    passive.push_back(entering);
    while (!passive.empty()) {
      const Eigen::VectorXd target = solve_passive(a, b, passive);
      double step = 1;
      for (const Eigen::Index i : passive)
        if (target[i] <= 0) step = std::min(step, x[i] / (x[i] - target[i]));
      if (step == 1 && (target(passive).array() > 0).all()) {
        x = target;
        break;
      }
      // Moves towards the target until a coefficient reaches 0, and drops those that did.
      x += step * (target - x);
      std::erase_if(passive, [&](Eigen::Index i) {
        const bool at_zero = x[i] <= 1e-14 * x.maxCoeff();
        if (at_zero) x[i] = 0;
        return at_zero;
      });
    }
  }
  return x;
}

}  // namespace gpucast::fit

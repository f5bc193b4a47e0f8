#include "gpucast/fit/evaluate.h"

#include <ceres/jet.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace gpucast::fit {

namespace {

template <class T>
T cell_seconds(const model::StepModel& model, const T* parameter, const Cell& cell) {
  switch (cell.kind) {
    case Kind::step:
      return model.step_seconds(parameter, cell.n, cell.gpus).total();
    case Kind::cpu:
      return model.cpu_seconds(parameter, cell.n);
    case Kind::transfer:
      return model.transfer_seconds(parameter, cell.route, cell.bytes);
    case Kind::launch:
      return model.launch_seconds(parameter, cell.count);
    case Kind::kernel:
      return model.gpu_seconds(parameter, cell.n, cell.gpus);
    case Kind::skeleton:
      return model.skeleton_seconds(parameter, cell.n, cell.gpus, cell.busy);
  }
  throw std::invalid_argument("unknown kind of cell");
}

double sign(const model::Parameter& parameter) { return parameter.reciprocal ? -1.0 : 1.0; }

// Derivatives with `width` slots, at least as many as the model has parameters.
template <int width>
void evaluate_with_jets(const model::StepModel& model, const std::vector<Cell>& cells,
                        const double* z, double* log_time, double* jacobian) {
  using Jet = ceres::Jet<double, width>;
  const auto& list = model.parameter_list();
  std::array<Jet, width> parameter;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double direction = sign(list[i]);
    const double value = std::exp(direction * z[i]);
    parameter[i] = Jet(value);
    parameter[i].v[static_cast<Eigen::Index>(i)] = direction * value;
  }
  for (std::size_t j = 0; j < cells.size(); ++j) {
    const Jet time = cell_seconds(model, parameter.data(), cells[j]);
    log_time[j] = std::log(time.a);
    for (std::size_t i = 0; i < list.size(); ++i)
      jacobian[j + i * cells.size()] = time.v[static_cast<Eigen::Index>(i)] / time.a;
  }
}

// The narrowest of several widths that holds the model. Derivative arrays have fixed widths so that
// they live in registers; few widths mean few instantiations.
template <int width, int... wider>
void evaluate_within(const model::StepModel& model, const std::vector<Cell>& cells, const double* z,
                     double* log_time, double* jacobian) {
  if (model.parameter_count() <= width)
    evaluate_with_jets<width>(model, cells, z, log_time, jacobian);
  else if constexpr (sizeof...(wider) > 0)
    evaluate_within<wider...>(model, cells, z, log_time, jacobian);
  else
    throw std::invalid_argument("a model has more than " + std::to_string(width) + " parameters");
}

}  // namespace

Eigen::VectorXd values_from_log(const model::StepModel& model, const Eigen::VectorXd& z) {
  Eigen::VectorXd values(z.size());
  for (Eigen::Index i = 0; i < z.size(); ++i)
    values[i] = std::exp(sign(model.parameter_list()[static_cast<std::size_t>(i)]) * z[i]);
  return values;
}

void evaluate(const model::StepModel& model, const std::vector<Cell>& cells, const double* z,
              double* log_time, double* jacobian) {
  if (jacobian == nullptr) {
    const Eigen::Map<const Eigen::VectorXd> map(z,
                                                static_cast<Eigen::Index>(model.parameter_count()));
    const Eigen::VectorXd parameter = values_from_log(model, map);
    for (std::size_t j = 0; j < cells.size(); ++j)
      log_time[j] = std::log(cell_seconds(model, parameter.data(), cells[j]));
    return;
  }
  evaluate_within<8, 12, 16, 24, 32, 48>(model, cells, z, log_time, jacobian);
}

Eigen::MatrixXd linear_jacobian(const model::StepModel& model, const std::vector<Cell>& cells,
                                const Eigen::VectorXd& z) {
  Eigen::VectorXd log_time(static_cast<Eigen::Index>(cells.size()));
  Eigen::MatrixXd jacobian(log_time.size(), z.size());
  evaluate(model, cells, z.data(), log_time.data(), jacobian.data());
  // d t / d u = t (d log t / d z) / u
  return log_time.array().exp().matrix().asDiagonal() * jacobian *
         (-z.array()).exp().matrix().asDiagonal();
}

LogTimes::LogTimes(const model::StepModel& model, const std::vector<Cell>& cells, Times times)
    : model_(model), cells_(cells) {
  if (times == Times::formulas || !model.is_linear()) return;
  const auto count = static_cast<Eigen::Index>(model.parameter_count());
  const Eigen::VectorXd nothing =
      Eigen::VectorXd::Constant(count, -std::numeric_limits<double>::infinity());
  Eigen::VectorXd log_given(static_cast<Eigen::Index>(cells.size()));
  evaluate(model, cells, nothing.data(), log_given.data(), nullptr);
  linear_ = {log_given.array().exp(), linear_jacobian(model, cells, Eigen::VectorXd::Zero(count))};
}

void LogTimes::operator()(const double* z, double* log_time, double* jacobian) const {
  if (!linear_) {
    evaluate(model_, cells_, z, log_time, jacobian);
    return;
  }
  const Eigen::MatrixXd& a = linear_->coefficient;
  const Eigen::VectorXd u = Eigen::VectorXd::Map(z, a.cols()).array().exp();
  const Eigen::VectorXd time = linear_->given + a * u;
  Eigen::VectorXd::Map(log_time, a.rows()) = time.array().log();
  if (jacobian != nullptr) {
    Eigen::MatrixXd::Map(jacobian, a.rows(), a.cols()) =
        time.cwiseInverse().asDiagonal() * a * u.asDiagonal();
  }
}

}  // namespace gpucast::fit

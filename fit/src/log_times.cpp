#include "gpucast/fit/log_times.h"

#include <limits>

#include "gpucast/fit/evaluate.h"

namespace gpucast::fit {

LogTimes::LogTimes(const model::StepModel& model, const std::vector<Cell>& cells, Times times)
    : model_(model), cells_(cells) {
  if (times == Times::formulas || !model.is_linear()) {
    return;
  }
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

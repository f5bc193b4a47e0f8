#include "gpucast/fit/nnls.h"

#include <Eigen/QR>
#include <algorithm>
#include <vector>

namespace gpucast::fit {

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

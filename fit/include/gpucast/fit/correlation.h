// Common parts of the processes about forms (scaling/form_fit.h, components/component_form.h).
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace gpucast::fit {

// A variance of log time far below any clock's, so that exactly repeating cells have a Cholesky
// factor.
inline constexpr double least_variance = 1e-10;

// The distinct values, and the index of each entry among them.
struct Distinct {
  Eigen::VectorXd values;
  std::vector<Eigen::Index> place;

  explicit Distinct(const Eigen::VectorXd& all) : place(static_cast<std::size_t>(all.size())) {
    std::vector<double> sorted(all.begin(), all.end());
    std::ranges::sort(sorted);
    const auto repeated = std::ranges::unique(sorted);
    sorted.erase(repeated.begin(), repeated.end());
    for (std::size_t i = 0; i < place.size(); ++i) {
      const double value = all[static_cast<Eigen::Index>(i)];
      place[i] = std::ranges::lower_bound(sorted, value) - sorted.begin();
    }
    values = Eigen::VectorXd::Map(sorted.data(), static_cast<Eigen::Index>(sorted.size()));
  }
};

// Correlations exp(-|row - column| / length) of an Ornstein-Uhlenbeck process. Cells share sizes
// and GPU counts, and rows their cells, so that each distance is computed once.
inline Eigen::MatrixXd correlation(const Eigen::VectorXd& rows, const Eigen::VectorXd& columns,
                                   double length) {
  const Distinct row(rows);
  const Distinct column(columns);
  const Eigen::ArrayXXd distance =
      (row.values.rowwise().replicate(column.values.size()) -
       column.values.transpose().colwise().replicate(row.values.size()))
          .array()
          .abs();
  return Eigen::MatrixXd((-distance / length).exp())(row.place, column.place);
}

// A log-normal prior of a positive quantity.

struct LogNormal {
  double log_median;
  double log_sd;
};

}  // namespace gpucast::fit

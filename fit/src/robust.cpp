#include "gpucast/fit/robust.h"

#include <numbers>
#include <stdexcept>

namespace gpucast::fit {

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median_variance(std::size_t count) {
  constexpr double pi = std::numbers::pi;
  const auto m = static_cast<double>(count);
  return count <= 2 ? 1 / m : pi / (2 * m + pi - 2);
}

double tukey_centre(std::span<const double> values) {
  double centre = median({values.begin(), values.end()});
  for (int round = 0; round < 50; ++round) {
    double weight = 0;
    double sum = 0;
    for (const double value : values) {
      const double w = tukey_weight(value - centre);
      weight += w;
      sum += w * (value - centre);
    }
    if (!(weight > 0)) break;
    centre += sum / weight;
    if (std::abs(sum / weight) < 1e-9) break;
  }
  return centre;
}

double mad_scale(std::span<const double> residuals, std::span<const double> known_variance,
                 double floor) {
  std::vector<double> magnitude(residuals.size());
  std::ranges::transform(residuals, magnitude.begin(), [](double r) { return std::abs(r); });
  const double high = std::max(floor, median(magnitude) / normal_mad);
  if (std::ranges::all_of(known_variance, [](double v) { return v == 0; })) return high;
  const auto exceeds = [&](double sigma) {
    for (std::size_t i = 0; i < residuals.size(); ++i)
      magnitude[i] = std::abs(residuals[i]) / std::sqrt(sigma * sigma + known_variance[i]);
    return median(magnitude) > normal_mad;
  };
  // Rounding alone may explain the residuals; at `high` it explains all of them.
  return exceeds(floor) ? least_enough(floor, high, 1e-6, exceeds) : floor;
}

}  // namespace gpucast::fit

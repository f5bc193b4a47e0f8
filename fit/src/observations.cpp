#include "gpucast/fit/observations.h"

#include <numeric>
#include <stdexcept>
#include <utility>

#include "gpucast/fit/robust.h"

namespace gpucast::fit {

Observations::Observations(std::span<const Cell> sample_cells, std::span<const double> seconds,
                           std::span<const double> rounding_variance) {
  if (sample_cells.size() != seconds.size() || seconds.size() != rounding_variance.size())
    throw std::invalid_argument("cells, seconds and rounding variances differ in number");
  std::vector<std::size_t> order(sample_cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t sample) {
    return std::pair<const Cell&, std::size_t>(sample_cells[sample], sample);
  });
  log_seconds_.reserve(order.size());
  rounding_variance_.reserve(order.size());
  for (const std::size_t sample : order) {
    if (!(seconds[sample] > 0) || !std::isfinite(seconds[sample]))
      throw std::invalid_argument("a time is not positive and finite");
    if (cells_.empty() || cells_.back() != sample_cells[sample]) {
      cells_.push_back(sample_cells[sample]);
      first_.push_back(first_.back());
    }
    log_seconds_.push_back(std::log(seconds[sample]));
    rounding_variance_.push_back(rounding_variance[sample]);
    ++first_.back();
  }
}

Observations Observations::with_log_seconds(std::vector<double> log_seconds) const {
  Observations result = *this;
  result.log_seconds_ = std::move(log_seconds);
  return result;
}

Observations Observations::subset(const std::vector<bool>& keep) const {
  Observations result;
  for (std::size_t j = 0; j < cells_.size(); ++j) {
    if (!keep[j]) continue;
    result.cells_.push_back(cells_[j]);
    for (std::size_t i = first_[j]; i < first_[j + 1]; ++i) {
      result.log_seconds_.push_back(log_seconds_[i]);
      result.rounding_variance_.push_back(rounding_variance_[i]);
    }
    result.first_.push_back(result.log_seconds_.size());
  }
  return result;
}

double Observations::median_log(std::size_t cell) const {
  const auto begin = log_seconds_.begin();
  return median({begin + static_cast<std::ptrdiff_t>(first_[cell]),
                 begin + static_cast<std::ptrdiff_t>(first_[cell + 1])});
}

}  // namespace gpucast::fit

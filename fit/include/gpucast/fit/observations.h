// Measured times as a fit sees them: cells (what was timed) and samples (how often, how long).
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <vector>

#include "gpucast/model/routes.h"

namespace gpucast::fit {

// step: one MD step; cpu: its host part alone; kernel: its GPU part alone; transfer: one copy;
// launch: `count` in a row; skeleton: a step without host work whose kernels only take `busy`.
using Kind = schema::ObservationKind;

// What was timed. Fields that a kind does not use stay 0.
struct Cell {
  Kind kind = Kind::step;
  model::Route route = model::Route::h2d;  // transfer
  double n = 0;                            // step, cpu, kernel, skeleton: particles
  double gpus = 0;                         // step, kernel, skeleton: N
  double bytes = 0;                        // transfer
  double count = 0;                        // launch
  double busy = 0;                         // skeleton: seconds

  friend auto operator<=>(const Cell&, const Cell&) = default;
};

// Noise differs between kinds of measurement and between routes, not within: each of these groups
// gets a scale.
inline constexpr std::size_t group_count = 5 + model::route_count;

constexpr std::size_t group(const Cell& cell) {
  switch (cell.kind) {
    case Kind::step:
      return 0;
    case Kind::cpu:
      return 1;
    case Kind::launch:
      return 2;
    case Kind::kernel:
      return 3;
    case Kind::skeleton:
      return 4;
    case Kind::transfer:
      return 5 + static_cast<std::size_t>(cell.route);
  }
  return 0;
}

// Samples gathered by cell. All noise is taken as multiplicative, so times are kept as logarithms.
class Observations {
 public:
  // One entry a sample: its cell, its time in seconds (> 0), and the variance of log(time) that
  // rounding alone gives it (0: not rounded). Cells come out sorted; samples keep their order.
  // Throws std::invalid_argument if a time is not positive and finite.
  Observations(std::span<const Cell> sample_cells, std::span<const double> seconds,
               std::span<const double> rounding_variance);

  std::size_t cell_count() const { return cells_.size(); }
  std::size_t sample_count() const { return log_seconds_.size(); }
  const std::vector<Cell>& cells() const { return cells_; }

  // Samples of cell j are [first(j), first(j + 1)).
  std::size_t first(std::size_t cell) const { return first_[cell]; }
  std::size_t size(std::size_t cell) const { return first_[cell + 1] - first_[cell]; }

  const std::vector<double>& log_seconds() const { return log_seconds_; }
  const std::vector<double>& rounding_variance() const { return rounding_variance_; }

  // The same cells with other times (a bootstrap replicate), log(seconds) in the order kept here.
  Observations with_log_seconds(std::vector<double> log_seconds) const;

  // The cells for which keep[j] is true.
  Observations subset(const std::vector<bool>& keep) const;

  // Median of log(seconds) of a cell.
  double median_log(std::size_t cell) const;

 private:
  Observations() = default;

  std::vector<Cell> cells_;
  std::vector<std::size_t> first_{0};
  std::vector<double> log_seconds_;
  std::vector<double> rounding_variance_;
};

}  // namespace gpucast::fit

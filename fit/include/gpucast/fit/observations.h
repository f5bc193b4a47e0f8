// Measured times in the form for fits: cells (what was timed) and samples (the times).
#pragma once

#include <compare>
#include <ranges>
#include <span>
#include <string_view>

#include "gpucast/model/transfer_curve.h"

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

// Noise differs between kinds of measurement and between routes, but not within: each kind except
// transfers, and each route, is a group with its own scale.
inline constexpr std::size_t kind_count = schema::all<Kind>().size();
inline constexpr std::size_t group_count = kind_count + model::route_count;

constexpr std::size_t group(const Cell& cell) {
  return cell.kind == Kind::transfer ? kind_count + static_cast<std::size_t>(cell.route)
                                     : static_cast<std::size_t>(cell.kind);
}

// The word of the kind or route.
constexpr std::string_view group_name(std::size_t group) {
  return group < kind_count ? name(static_cast<Kind>(group))
                            : name(static_cast<model::Route>(group - kind_count));
}

// Samples by cell. All noise is treated as multiplicative, so times are kept as logarithms.
class Observations {
 public:
  // One entry per sample: its cell, its time in seconds (> 0), and the variance of log(time) that
  // rounding causes (0: not rounded). Cells are sorted; samples keep their order. Throws
  // std::invalid_argument if a time is not positive and finite.
  Observations(std::span<const Cell> sample_cells, std::span<const double> seconds,
               std::span<const double> rounding_variance);

  std::size_t cell_count() const { return cells_.size(); }
  std::size_t sample_count() const { return log_seconds_.size(); }
  const std::vector<Cell>& cells() const { return cells_; }

  // Samples of cell j are [first(j), first(j + 1)).
  std::size_t first(std::size_t cell) const { return first_[cell]; }
  auto samples(std::size_t cell) const { return std::views::iota(first_[cell], first_[cell + 1]); }
  std::size_t size(std::size_t cell) const { return first_[cell + 1] - first_[cell]; }

  const std::vector<double>& log_seconds() const { return log_seconds_; }
  const std::vector<double>& rounding_variance() const { return rounding_variance_; }

  // The same cells with other times (a bootstrap replicate), log(seconds) in the order of the
  // samples.
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

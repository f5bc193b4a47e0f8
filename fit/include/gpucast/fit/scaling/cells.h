// Measured cells of a program that is known only by its step times.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <map>
#include <set>

#include "gpucast/model/scaling/catalogue.h"

namespace gpucast::fit::scaling {

// What a collective takes among N GPUs, as it was measured. One entry per N, ascending; none: it
// was not.
struct Network {
  Eigen::VectorXd gpus;
  Eigen::VectorXd latency;   // s of the smallest
  Eigen::VectorXd per_byte;  // s, of the largest
  double bytes = 0;          // of a step; 0: not stated

  bool measured() const { return gpus.size() > 0; }

  // A column at N: that of the next larger count, since another node may begin behind the smaller
  // one, beyond all counts that of the largest; 0 for N = 1.
  double at(double count, const Eigen::VectorXd& column) const {
    if (!measured() || count <= 1) return 0;
    const auto above = std::ranges::lower_bound(gpus, count) - gpus.begin();
    return column[std::min(above, gpus.size() - 1)];
  }
};

// One entry per cell; n, gpus and seconds are above 0.
struct Cells {
  Eigen::VectorXd n;
  Eigen::VectorXd gpus;
  Eigen::VectorXd nodes;        // 0: not known
  Eigen::VectorXd log_seconds;  // of the cell's median
  Eigen::VectorXd variance;     // of the median, from repetitions and rounding
  Eigen::VectorXd local;        // 0 unless the cell is unlike all others: its own variance
  Eigen::VectorXd repeated{};   // 1: repetitions agree on it; empty: none was repeated
  Network network{};

  Eigen::Index size() const { return n.size(); }
  double largest_size() const { return n.maxCoeff(); }

  // Selects some of the cells: `at` is anything that indexes an Eigen vector.
  template <class Indices>
  Cells some(const Indices& at) const {
    return {n(at),
            gpus(at),
            nodes(at),
            log_seconds(at),
            variance(at),
            local(at),
            repeated.size() > 0 ? Eigen::VectorXd(repeated(at)) : repeated,
            network};
  }

  // Whether a cell may be a mistake: it was timed once, and others lie on both sides of it. A
  // repeated time is a fact, and beyond an end of the data a law may change.
  bool may_be_mistaken(Eigen::Index at) const {
    if (repeated.size() > 0 && repeated[at] > 0) return false;
    const auto between = [&](const Eigen::VectorXd& along, const Eigen::VectorXd& across) {
      bool below = false;
      bool above = false;
      for (Eigen::Index i = 0; i < size(); ++i) {
        if (across[i] != across[at]) continue;
        below = below || along[i] < along[at];
        above = above || along[i] > along[at];
      }
      return below && above;
    };
    return between(n, gpus) || between(gpus, n);
  }

  model::scaling::Scale scale(Eigen::Index at, std::size_t growth) const {
    return {n[at],
            gpus[at],
            nodes[at],
            &model::scaling::growths[growth],
            network.at(gpus[at], network.latency),
            network.at(gpus[at], network.per_byte)};
  }

  model::scaling::Extent extent() const {
    const std::set<double> sizes(n.begin(), n.end());
    const std::set<double> counts(gpus.begin(), gpus.end());
    const Eigen::ArrayXd share = n.array() / gpus.array();
    const bool known = (nodes.array() > 0).all();
    std::map<double, std::set<double>> sizes_of;
    for (Eigen::Index i = 0; i < size(); ++i)
      sizes_of[gpus[i]].insert(n[i]);
    std::size_t most = 0;
    for (const auto& [count, of_count] : sizes_of)
      most = std::max(most, of_count.size());
    return {.sizes = sizes.size(),
            .sizes_of_a_count = most,
            .counts = counts.size(),
            .least_gpus = *counts.begin(),
            .largest_gpus = *counts.rbegin(),
            .shares_differ = share.maxCoeff() > 1.3 * share.minCoeff(),
            .several_nodes = known && (nodes.array() != nodes[0]).any(),
            .network = network.measured(),
            .bytes_known = network.bytes > 0};
  }
};

}  // namespace gpucast::fit::scaling

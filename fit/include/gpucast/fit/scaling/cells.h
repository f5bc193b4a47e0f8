// Measured cells of a program that is known by its step times alone.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gpucast/model/scaling/scale.h"

namespace gpucast::fit::scaling {

// One entry a cell; n, gpus and seconds are above 0.
struct Cells {
  Eigen::VectorXd n;
  Eigen::VectorXd gpus;
  Eigen::VectorXd nodes;        // 0: not known
  Eigen::VectorXd log_seconds;  // of the cell's median
  Eigen::VectorXd variance;     // of it, as known from repetitions and rounding
  Eigen::VectorXd local;        // variance of what is the cell's alone: 0 but where the cell is
                                // known to be unlike all others

  Eigen::Index size() const { return n.size(); }
  double largest_size() const { return n.maxCoeff(); }

  // Some of the cells: `at` is whatever indexes an Eigen vector.
  template <class Indices>
  Cells some(const Indices& at) const {
    return {n(at), gpus(at), nodes(at), log_seconds(at), variance(at), local(at)};
  }

  model::scaling::Scale scale(Eigen::Index at, std::size_t growth) const {
    return {n[at], gpus[at], nodes[at], &model::scaling::growths[growth]};
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
            .several_nodes = known && (nodes.array() != nodes[0]).any()};
  }
};

}  // namespace gpucast::fit::scaling

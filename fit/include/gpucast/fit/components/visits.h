// Measurements of a program whose parts of steps were timed, too: a row per visit.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace gpucast::fit::components {

// One measurement of a cell, whose samples were taken together. Times are natural logarithms of
// seconds.
struct Visit {
  Eigen::Index cell = 0;
  double step = 0;
  double step_variance = 0;  // of the samples' median
  bool has_cpu = false;      // whether the host's part was timed
  double cpu = 0;
  double cpu_variance = 0;
};

// Cells with their visits.
struct Measured {
  Eigen::VectorXd n;
  Eigen::VectorXd gpus;
  Eigen::VectorXd kernel;           // log of the kernel's own time; NaN: not timed
  Eigen::VectorXd kernel_variance;  // of the kernel's log time
  std::vector<Visit> visits;

  Eigen::Index size() const { return n.size(); }
};

}  // namespace gpucast::fit::components

// What was measured of a program whose steps have parts that were timed, too: a row a visit.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace gpucast::fit::components {

// One measurement of a cell: its samples share the minute. Times are natural logarithms of seconds.
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
  Eigen::VectorXd kernel;           // log of the kernel's own time; not a number: not timed
  Eigen::VectorXd kernel_variance;  // of it
  std::vector<Visit> visits;

  Eigen::Index size() const { return n.size(); }
};

}  // namespace gpucast::fit::components

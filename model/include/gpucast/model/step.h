// What a term is told of a step: its size, its GPU count, and what follows from its workload.
#pragma once

#include <cmath>

#include "gpucast/model/workload.h"

namespace gpucast::model {

struct Step {
  double n = 0;
  double gpus = 0;  // N; 0 where only the host's part is asked for
  const Workload* workload = &all_pairs;

  // Elements of the GPU that has the most.
  double share() const { return std::ceil(n / gpus); }

  // Units of work for each element of a share, and of the GPU that has the most.
  double visits() const { return workload->visits(n, gpus); }
  double work() const { return workload->work(n, gpus); }

  double bytes_in() const { return workload->to_gpu(n, gpus); }     // to each GPU
  double bytes_out() const { return workload->from_gpu(n, gpus); }  // from each GPU
};

// What a communication term is told besides.
template <class T>
struct ComStep : Step {
  const T& t_gpu;       // T_gpu of the same step
  bool linear = false;  // leave out what makes the time other than linear in its parameters
};

}  // namespace gpucast::model

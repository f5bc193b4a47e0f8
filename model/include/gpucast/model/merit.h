// What people read off a step time: rate and parallel efficiency.
#pragma once

#include "gpucast/model/workload.h"

namespace gpucast::model {

// Gflops of a step of size n: its operations / T / 1e9.
inline double gflops(const Workload& workload, double n, double seconds) {
  return workload.operations_of_step(n) / seconds * 1e-9;
}

// Parallel efficiency T(n, 1) / (N T(n, N)): 1 if N GPUs are N times as fast as one.
inline double efficiency(double seconds_one_gpu, double seconds, double gpus) {
  return seconds_one_gpu / (gpus * seconds);
}

}  // namespace gpucast::model

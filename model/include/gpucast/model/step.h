// The arguments of a term: counts of the GPU, but never timings; a step's size, GPU count and the
// amounts that follow from its workload.
#pragma once

#include <cmath>
#include <string_view>

#include "gpucast/model/workload.h"

namespace gpucast::model {

// A count of 0 means "unknown"; terms that need it cannot be used then.
struct Machine {
  double cores = 0;  // c: FP32 lanes of one GPU
  double sms = 0;    // s: multiprocessors of one GPU
  double block = 0;  // threads a block in the timed kernel
};

// A count that a term may need.
struct Fact {
  double Machine::* count;
  std::string_view name;
  std::string_view phrase;  // for messages
};

inline constexpr Fact cores{&Machine::cores, "cores", "the number of cores of a GPU"};
inline constexpr Fact sms{&Machine::sms, "sms", "the number of multiprocessors"};
inline constexpr Fact block{&Machine::block, "block", "the threads a block"};

struct Step {
  double n = 0;
  double gpus = 0;  // N; 0 for the host's part alone
  const Workload* workload = &all_pairs;

  // Elements of the GPU that has the most.
  double share() const { return std::ceil(n / gpus); }

  // Units of work per element of a share, and of the GPU with the most.
  double visits() const { return workload->visits(n, gpus); }
  double work() const { return workload->work(n, gpus); }

  double bytes_in() const { return workload->to_gpu(n, gpus); }     // to each GPU
  double bytes_out() const { return workload->from_gpu(n, gpus); }  // from each GPU
};

// Additional arguments of a communication term.
template <class T>
struct ComStep : Step {
  const T& t_gpu;       // T_gpu of the same step
  bool linear = false;  // leave out everything that is not linear in the parameters
};

}  // namespace gpucast::model

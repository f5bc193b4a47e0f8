// What the kernels can be launched with, and are where the choice is theirs.
#pragma once

#include "engine/device.h"

namespace gpucast::mdapp::cuda {

inline constexpr int most_claret_threads = 1024;
inline constexpr int most_tuned_threads = 128;
inline constexpr int most_splits = 65535;  // of a grid's second dimension

inline int default_block(KernelName kernel) {
  return kernel == KernelName::claret ? 256 : most_tuned_threads;
}

}  // namespace gpucast::mdapp::cuda

// The kernels as functions for the CUDA engine. Launches go to the current device; their errors are
// those of cudaGetLastError().
#pragma once

#include <cuda_runtime.h>

#include "engine/device.h"
#include "kernels/pair_sum.h"

namespace gpucast::mdapp::cuda {

// Limits of the kernels' launch parameters.
inline constexpr int most_claret_threads = 1024;
inline constexpr int most_tuned_threads = 128;
inline constexpr int most_splits = 65535;  // of a grid's second dimension

inline int default_block(KernelName kernel) {
  return kernel == KernelName::claret ? 256 : most_tuned_threads;
}

// The division of work in `tuned`.
struct Division {
  int threads = 0;  // a block
  int i_per_thread = 0;
  int j_split = 0;
};

void launch_claret(const ForceArguments& arguments, int block, cudaStream_t stream);

// Completes the choice for the current device. The result depends only on the arguments and the
// GPU.
Division divide(const KernelChoice& choice, int n, int slice);
void launch_tuned(const ForceArguments& arguments, const Division& division, cudaStream_t stream);
inline constexpr int partial_components = 5;  // force, energy, virial

// ---- integration ----

// The slice's particles and the thermostat's state.
struct State {
  double* r = nullptr;  // 3 a particle of the slice
  double* v = nullptr;
  const Force* forces = nullptr;
  Position* positions = nullptr;  // of all n
  StepSums* sums = nullptr;
  double* friction = nullptr;
  int* steps = nullptr;       // made since the start
  int* overlapped = nullptr;  // 1 once a force was not sound
  int n = 0;
  int cations = 0;
  Slice slice;
};

void launch_before_forces(const State& state, const Motion& motion, IntegratorKind kind,
                          cudaStream_t stream);
void launch_sum_up(const State& state, cudaStream_t stream);
// `scratch`: device memory for the step's motion.
void launch_after_forces(const State& state, const Motion& motion, IntegratorKind kind,
                         Motion* scratch, cudaStream_t stream);

}  // namespace gpucast::mdapp::cuda

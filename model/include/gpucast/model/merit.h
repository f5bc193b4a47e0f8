// What people read off a step time: rate and parallel efficiency.
#pragma once

namespace gpucast::model {

// Claret counts 78 floating-point operations an ordered pair, self pairs included.
inline constexpr double claret_flops_per_pair = 78;

// Gflops of a step of n particles: flops_per_pair n^2 / T / 1e9. A counting convention, not what
// the chip executes: tuned kernels need fewer operations a pair.
inline double gflops(double n, double seconds, double flops_per_pair = claret_flops_per_pair) {
  return flops_per_pair * n * n / seconds * 1e-9;
}

// Parallel efficiency T(n, 1) / (N T(n, N)): 1 if N GPUs are N times as fast as one.
inline double efficiency(double seconds_one_gpu, double seconds, double gpus) {
  return seconds_one_gpu / (gpus * seconds);
}

}  // namespace gpucast::model

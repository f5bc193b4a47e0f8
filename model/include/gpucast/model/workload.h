// The amount of work in a step as a function of its size n and GPU count N, from which terms, rates
// and checks are computed.
#pragma once

#include <cmath>

namespace gpucast::model {

// factor n^p N^q
struct Amount {
  double factor = 0;
  double n = 0;     // p
  double gpus = 0;  // q

  // Exponents other than 0, 1 and -1 are rare, and a power takes longer than the rest of a term.
  double operator()(double size, double count) const {
    const double in_n = n == 1 ? factor * size : n == 0 ? factor : factor * std::pow(size, n);
    return gpus == 0 ? in_n : gpus == -1 ? in_n / count : in_n * std::pow(count, gpus);
  }

  friend bool operator==(const Amount&, const Amount&) = default;
};

// The elements of a step (particles, cells) are distributed, ceil(n / N) to the GPU with the most.
// The defaults are all-pairs forces as in Claret: each particle is visited n times; four floats
// (position and type) of all n particles are sent to every GPU, three (force) of each particle of
// its share return. Claret counts 78 floating-point operations per ordered pair, including self
// pairs: a counting convention, not what a chip executes.
struct Workload {
  Amount visits{1, 1, 0};      // units of work for each element of a GPU's share
  Amount to_gpu{16, 1, 0};     // bytes to each GPU
  Amount from_gpu{12, 1, -1};  // bytes from each GPU
  Amount halo{};               // bytes that each of several GPUs gets from its neighbours
  double operations = 78;      // floating-point operations of a unit of work; not a number: unknown

  // Units of work of the GPU that has the most.
  double work(double n, double gpus) const { return std::ceil(n / gpus) * visits(n, gpus); }

  // Floating-point operations of a step, whatever GPUs compute it.
  double operations_of_step(double n) const { return operations * n * visits(n, 1); }

  // Rate of a step of size n: its operations / T / 1e9.
  double gflops(double n, double seconds) const { return operations_of_step(n) / seconds * 1e-9; }

  // Returns the size at which each of N GPUs gets this number of bytes, which must grow with n.
  double size_of(double bytes_to_gpu, double gpus) const {
    const double one = to_gpu(1, gpus);
    return to_gpu.n == 1 ? bytes_to_gpu / one : std::pow(bytes_to_gpu / one, 1 / to_gpu.n);
  }

  friend bool operator==(const Workload&, const Workload&) = default;
};

inline constexpr Workload all_pairs{};

// Parallel efficiency T(n, 1) / (N T(n, N)): 1 if N GPUs are N times as fast as one.
inline double efficiency(double seconds_one_gpu, double seconds, double gpus) {
  return seconds_one_gpu / (gpus * seconds);
}

}  // namespace gpucast::model

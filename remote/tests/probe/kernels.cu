#include "kernels.h"

namespace gpucast::probe {
namespace {

__constant__ double factors[4];
__device__ unsigned long long counter;

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < n) y[k] = a * x[k] + y[k];
}

__global__ void mixed_sum(char first, Mixed mixed, short second, double third, double* sum) {
  *sum = first + mixed.byte + mixed.real + mixed.half + static_cast<double>(mixed.wide[0]) +
         static_cast<double>(mixed.wide[1]) + static_cast<double>(mixed.wide[2]) + second + third;
}

__global__ void empty() {}

__global__ void read_factors(double* result) { result[threadIdx.x] = factors[threadIdx.x]; }

__global__ void count(unsigned long long amount) { counter += amount; }

}  // namespace

void queue_saxpy(int n, float a, const float* x, float* y, cudaStream_t stream) {
  constexpr int block = 256;
  saxpy<<<(n + block - 1) / block, block, 0, stream>>>(n, a, x, y);
}

void queue_mixed(char first, Mixed mixed, short second, double third, double* sum,
                 cudaStream_t stream) {
  mixed_sum<<<1, 1, 0, stream>>>(first, mixed, second, third, sum);
}

void queue_empty(cudaStream_t stream) { empty<<<1, 1, 0, stream>>>(); }

void queue_empty_old(cudaStream_t stream) {
  cudaLaunchKernel(reinterpret_cast<const void*>(empty), dim3(1), dim3(1), nullptr, 0, stream);
}

void queue_empty_with_attributes(cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(empty), nullptr);
}

void queue_factors(double* result, cudaStream_t stream) {
  read_factors<<<1, 4, 0, stream>>>(result);
}

void queue_count(std::uint64_t amount, cudaStream_t stream) { count<<<1, 1, 0, stream>>>(amount); }

const void* saxpy_symbol() { return reinterpret_cast<const void*>(saxpy); }
const void* factors_symbol() { return &factors; }
const void* counter_symbol() { return &counter; }

}  // namespace gpucast::probe

// Functions that launch the probe's kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "mixed.h"

namespace gpucast::probe {

// y[k] = a x[k] + y[k]
void queue_saxpy(int n, float a, const float* x, float* y, cudaStream_t stream);
// *sum = the sum of the arguments
void queue_mixed(char first, Mixed mixed, short second, double third, double* sum,
                 cudaStream_t stream);
void queue_empty(cudaStream_t stream);
// The same by the entry points from before CUDA 13 and by launch attributes.
void queue_empty_old(cudaStream_t stream);
void queue_empty_with_attributes(cudaStream_t stream);
// result[k] = factors[k], a __constant__ variable of four doubles
void queue_factors(double* result, cudaStream_t stream);

const void* saxpy_symbol();
const void* factors_symbol();
const void* counter_symbol();  // a __device__ variable, std::uint64_t
// Adds to the variable.
void queue_count(std::uint64_t amount, cudaStream_t stream);

}  // namespace gpucast::probe

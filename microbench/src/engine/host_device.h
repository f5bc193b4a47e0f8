// Marks functions that CPUs and GPUs run.
#pragma once

#ifdef __CUDACC__
#define GPUCAST_HD __host__ __device__
#else
#define GPUCAST_HD
#endif

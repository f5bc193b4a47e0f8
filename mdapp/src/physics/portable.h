// Code that the host compiler and nvcc both compile.
#pragma once

#ifdef __CUDACC__
#define GPUCAST_HD __host__ __device__
#else
#define GPUCAST_HD
#endif

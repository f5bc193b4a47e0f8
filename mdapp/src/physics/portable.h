// Code that the host compiler and nvcc both compile.
#pragma once

#ifdef __CUDACC__
#define GPUCAST_HD __host__ __device__
#else
// Always inlined on the host: kernels are compiled for several instruction sets, and no function of
// theirs may be left for the linker to choose among.
#define GPUCAST_HD __attribute__((always_inline))
#endif

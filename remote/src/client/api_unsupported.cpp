// Every entry point of the runtime's library that no other source defines: programs that only link
// to them run, and those that call them are told so. None of the headers that declare them is
// included: they take any arguments, and return the error.
#include "client/runtime.h"

#define GPUCAST_ENTRY_POINT(name)                                \
  extern "C" __attribute__((weak)) int name() {                  \
    return gpucast::remote::client::remember_unsupported(#name); \
  }
#if GPUCAST_CUDA == 13
#include "client/entry_points_13.inc"  // made of CUDA's headers (CMakeLists.txt)
#else
#include "client/entry_points_12.inc"
#endif

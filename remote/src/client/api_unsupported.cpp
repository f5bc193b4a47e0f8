// Every entry point of the runtime's library that no other source defines: programs that only link
// to them run, and programs that call them get an error. The headers that declare them are not
// included: these functions ignore their arguments and return the error.
#include "client/runtime.h"

#define GPUCAST_ENTRY_POINT(name)                                \
  extern "C" __attribute__((weak)) int name() {                  \
    return gpucast::remote::client::remember_unsupported(#name); \
  }
#if GPUCAST_CUDA == 13
#include "client/entry_points_13.inc"  // generated from CUDA's headers (CMakeLists.txt)
#else
#include "client/entry_points_12.inc"
#endif

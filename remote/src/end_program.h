// Ends a program that would otherwise compute on the wrong GPU, or with wrong values.
#pragma once

#include <unistd.h>
#include <cstdio>

namespace gpucast::remote {

// Ends with status 2, after one line on stderr. No code of the program runs any more, since its own
// handlers might call CUDA again. Its output so far is kept.
[[noreturn]] inline void end_program(const char* what) noexcept {
  std::fflush(stdout);
  dprintf(STDERR_FILENO, "gpucast remote: %s\n", what);
  _exit(2);
}

}  // namespace gpucast::remote

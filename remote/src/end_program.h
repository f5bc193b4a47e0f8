// How a program ends where going on would compute on the wrong GPU, or with wrong values.
#pragma once

#include <unistd.h>
#include <cstdio>

namespace gpucast::remote {

// With status 2, behind one line on stderr. Nothing of the program runs any more: its own handlers
// might call CUDA again. What it has printed so far is kept.
[[noreturn]] inline void end_program(const char* what) noexcept {
  std::fflush(stdout);
  dprintf(STDERR_FILENO, "gpucast remote: %s\n", what);
  _exit(2);
}

}  // namespace gpucast::remote

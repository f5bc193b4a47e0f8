// Whether a program and a path can be simulated at all.
#pragma once

#include "gpucast/replay/path.h"
#include "gpucast/replay/program.h"

namespace gpucast::replay {

// std::invalid_argument that says what is wrong.
void check(const Program& program, const Path& path);

}  // namespace gpucast::replay

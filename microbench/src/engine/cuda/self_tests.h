// What measurements on GPUs rely on: gates that cannot hang, wrong bytes that are seen, memory that
// runs out without harm.
#pragma once

#include <vector>

#include "engine/cuda/memory.h"
#include "engine/engine.h"

namespace gpucast::microbench::cuda {

std::vector<SelfTest> self_tests(BufferPool& pool, int devices);

}  // namespace gpucast::microbench::cuda

// A step's communication on GPUs.
#pragma once

#include <memory>

#include "engine/cuda/memory.h"
#include "engine/skeleton.h"

namespace gpucast::microbench::cuda {

std::unique_ptr<Skeleton> open_skeleton(BufferPool& pool, const StepShape& shape);

}  // namespace gpucast::microbench::cuda

// Empty kernels, and copies beside a kernel, on one GPU.
#pragma once

#include <memory>

#include "engine/cuda/memory.h"
#include "engine/cuda/streams.h"
#include "engine/engine.h"

namespace gpucast::microbench::cuda {

std::unique_ptr<Launches> open_launches(StreamRings& streams, int device, int arguments);
std::unique_ptr<Overlaps> open_overlaps(BufferPool& pool, int device, std::int64_t bytes);

}  // namespace gpucast::microbench::cuda

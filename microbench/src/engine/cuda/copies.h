// Copies of one set on GPUs.
#pragma once

#include <memory>
#include <span>

#include "engine/cuda/memory.h"
#include "engine/cuda/streams.h"
#include "engine/engine.h"

namespace gpucast::microbench::cuda {

std::unique_ptr<CopySet> open_copies(BufferPool& pool, StreamRings& streams,
                                     std::span<const Copy> copies);

}  // namespace gpucast::microbench::cuda

// Loops over kinds of host memory, by a GPU and by the CPU.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace gpucast::microbench::cuda {

std::unique_ptr<HostLoops> open_host_loops(int device, records::Memory memory, std::int64_t bytes);

}  // namespace gpucast::microbench::cuda

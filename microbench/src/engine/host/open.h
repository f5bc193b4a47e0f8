// What the host engine opens, each from a source of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/engine.h"
#include "gpucast/devices/host/worker.h"

namespace gpucast::microbench {

// A step's communication with CPU threads as devices.
std::unique_ptr<Skeleton> host_skeleton(devices::host::Workers& workers, const StepShape& shape);

// Steps of a traced program.
std::unique_ptr<TracedSteps> host_traced_steps(devices::host::Workers& workers,
                                               TracedProgram program);

// Loops over pageable memory by the CPU; `bytes`: of each array.
std::unique_ptr<HostLoops> cpu_loops(std::int64_t bytes);

}  // namespace gpucast::microbench

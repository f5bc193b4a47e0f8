// A step's communication with CPU threads as devices.
#pragma once

#include <memory>

#include "engine/skeleton.h"
#include "gpucast/devices/host/worker.h"

namespace gpucast::microbench {

std::unique_ptr<Skeleton> host_skeleton(devices::host::Workers& workers, const StepShape& shape);

}  // namespace gpucast::microbench

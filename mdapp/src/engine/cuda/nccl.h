// NCCL, opened at run time: only allgather needs it, and a machine without it can run the rest.
//
// The few declarations below are NCCL's documented, stable C interface (version 2).
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <span>
#include <string>

#include "engine/cuda/cuda_device.h"
#include "engine/engine.h"

namespace gpucast::mdapp::cuda {

// std::runtime_error with one line where no NCCL can be loaded (GPUCAST_NCCL may name the file).
std::unique_ptr<Exchange> nccl_exchange(std::span<CudaDevice* const> devices);

}  // namespace gpucast::mdapp::cuda

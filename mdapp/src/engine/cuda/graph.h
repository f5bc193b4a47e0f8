// Operations on several GPUs, recorded as one CUDA graph.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/cuda/cuda_device.h"
#include "engine/engine.h"

namespace gpucast::mdapp::cuda {

std::unique_ptr<Recording> record_graph(std::span<CudaDevice* const> devices,
                                        const std::function<void()>& queue);

}  // namespace gpucast::mdapp::cuda

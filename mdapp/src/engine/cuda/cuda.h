// What the engine and its kernels use of CUDA.
#pragma once

#include "gpucast/devices/cuda/check.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::mdapp::cuda {

using devices::cuda::check;
using devices::cuda::DeviceArray;
using devices::cuda::Event;
using devices::cuda::Stream;

}  // namespace gpucast::mdapp::cuda

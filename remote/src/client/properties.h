// A device's properties and attributes, from what the server told when the connection was made.
#pragma once

#include <driver_types.h>

#include "client/gpu.h"

namespace gpucast::remote::client {

// As a program may rely on them over a network: none of what needs the host's memory to be within
// the device's reach.
int attribute(const Gpu& gpu, int which);
cudaDeviceProp properties(const Gpu& gpu);

}  // namespace gpucast::remote::client

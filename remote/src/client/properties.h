// A device's properties and attributes, from what the server sent when the connection was made.
#pragma once

#include <driver_types.h>

#include <array>
#include <cstddef>

#include "client/gpu.h"

namespace gpucast::remote::client {

// The structure that CUDA 12 programs expect, as bytes: no header of CUDA 13 declares it.
struct Properties12 {
  alignas(std::size_t) std::array<std::byte, 1032> bytes{};
};

// Returns what a program may rely on over a network: nothing that needs the device to reach host
// memory.
int attribute(const Gpu& gpu, int which);
template <class Properties>
Properties properties(const Gpu& gpu);
template <>
cudaDeviceProp properties(const Gpu& gpu);
template <>
Properties12 properties(const Gpu& gpu);

}  // namespace gpucast::remote::client

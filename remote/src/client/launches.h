// Launches, as all generations of entry points make them.
#pragma once

#include <array>

#include "client/runtime.h"

namespace gpucast::remote::client {

struct LaunchOptions {
  std::array<std::uint32_t, 3> cluster{};
  bool cooperative = false;
};

// `host`: what stands for the kernel in the host's code, or its handle.
const Function& function_of(const void* host);
// Both throw Failure.
// A launch on the device as a node of a graph.
Work kernel_work(const void* host, const LaunchShape& shape, void** arguments,
                 const LaunchOptions& options, int device);
void launch(const void* host, const LaunchShape& shape, void** arguments,
            const LaunchOptions& options);

}  // namespace gpucast::remote::client

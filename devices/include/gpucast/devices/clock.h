// The host's clock.
#pragma once

#include <chrono>

namespace gpucast::devices {

using Clock = std::chrono::steady_clock;

// Seconds from `begin` until now.
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace gpucast::devices

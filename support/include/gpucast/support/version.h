// The version of gpucast that all its programs belong to.
#pragma once

namespace gpucast::support {

inline constexpr const char* version = GPUCAST_VERSION;

}  // namespace gpucast::support

// The version of gpucast that all its programs belong to.
#pragma once

namespace gpucast::support {

extern const char* const version;

}  // namespace gpucast::support

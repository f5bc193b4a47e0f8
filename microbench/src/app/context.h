// What every command works with besides its own options.
#pragma once

#include "gpucast/support/context.h"

namespace gpucast::microbench {

inline constexpr const char* program = "gpucast-microbench";

using support::Context;

}  // namespace gpucast::microbench

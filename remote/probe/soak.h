// All kinds of calls, mixed, for as long as wanted.
#pragma once

#include <cstdint>

namespace gpucast::probe {

// On every device, by several threads, for so many seconds; Failed where something comes out wrong.
// Returns how many rounds were made: each takes memory, a stream and events, and gives them back.
std::uint64_t soak(double seconds);

}  // namespace gpucast::probe

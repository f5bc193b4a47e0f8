// Numbers of calls, streams and devices, which may be none, as places in columns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpucast::replay {

constexpr std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace gpucast::replay

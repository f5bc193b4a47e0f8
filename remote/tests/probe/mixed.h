// An argument of a kernel of the probe.
#pragma once

#include <cstdint>

namespace gpucast::probe {

// Members of every size and alignment.
struct Mixed {
  std::uint8_t byte = 0;
  double real = 0;
  std::uint16_t half = 0;
  std::uint64_t wide[3] = {};
};

}  // namespace gpucast::probe

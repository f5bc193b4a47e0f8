// How long calls take.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gpucast::probe {

// By name, in SI units: seconds, bytes/second.
using Figures = std::map<std::string, double>;

// Returns medians of blocking 64-byte copies and of empty launches, and the bandwidth of pinned
// copies of `bytes`.
Figures measure_calls(std::size_t bytes);
// Times blocking copies of pinned memory, `times` of each size in both directions, and prints one
// JSON object per line: route, bytes, seconds.
void print_copies(const std::vector<std::size_t>& sizes, int times);

}  // namespace gpucast::probe

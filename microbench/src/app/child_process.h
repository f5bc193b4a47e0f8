// A program run to its end.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gpucast::microbench {

// What it wrote to stdout; its stderr is lost. `environment`: variables that it gets besides ours.
// Throws DeviceError where it cannot be run or does not end with 0.
std::string output_of(const std::string& path, const std::vector<std::string>& arguments,
                      const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace gpucast::microbench

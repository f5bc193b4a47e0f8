// What names things in records: machines, paths, kernels.
#pragma once

#include <string>
#include <string_view>

namespace gpucast::records {

// `text`, if it may be a label: not empty, no control characters. Otherwise std::invalid_argument,
// which names `field`.
std::string label(std::string_view field, std::string text);

}  // namespace gpucast::records

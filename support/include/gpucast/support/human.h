// Figures for people to read.
#pragma once

#include <cstdint>
#include <string>

namespace gpucast::support {

std::string human_bytes(std::int64_t bytes);           // 12.3 GiB
std::string human_seconds(double seconds);             // 52.1 us
std::string human_duration(double seconds);            // 3 min 20 s
std::string figure(const char* format, double value);  // as printf

}  // namespace gpucast::support

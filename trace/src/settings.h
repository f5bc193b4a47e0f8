// Settings of the library in the program, which `gpucast trace` passes in the environment:
//
//   GPUCAST_TRACE          folder of the recording; without it nothing is recorded
//   GPUCAST_TRACE_CUPTI    CUPTI libraries: paths, separated by colons, best first
//   GPUCAST_TRACE_GRAPHS   `nodes` (default): a row for each graph node; `whole`: for each launch
//   GPUCAST_TRACE_AFTER    seconds after the first CUDA call before recording begins
//   GPUCAST_TRACE_SECONDS  seconds that are recorded; 0 (default): all
//   GPUCAST_TRACE_CALLS    calls after which recording ends; 0 (default): never
//   GPUCAST_TRACE_PHASE    seconds of the first full phase (phases.h); 0: a single phase (0.05)
//   GPUCAST_TRACE_LIGHT_TO_FULL  length of a light phase relative to the full one before it (3)
//   GPUCAST_TRACE_BEGIN    `light`: begin with a light phase
//   GPUCAST_TRACE_ONLY     the one CUDA function that is recorded, and nothing else
//   GPUCAST_TRACE_FLUSH    seconds until a record is in the file, at most (0.1)
//   GPUCAST_TRACE_LOG      anything: print the state of NVTX on stderr
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace gpucast::trace {

struct Settings {
  std::filesystem::path folder;
  std::vector<std::string> cupti;
  bool whole_graphs = false;
  std::chrono::nanoseconds after{0};
  std::chrono::nanoseconds duration{0};
  std::uint64_t calls = 0;
  std::chrono::nanoseconds phase = std::chrono::milliseconds(50);
  int light_to_full = 3;
  bool begins_full = true;
  std::string only;
  std::chrono::nanoseconds flush = std::chrono::milliseconds(100);
};

namespace environment {

inline std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

inline double number(const char* name, double otherwise) {
  const std::string text(variable(name));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && *end == '\0';
  return whole && std::isfinite(value) && value >= 0 ? value : otherwise;
}

inline std::chrono::nanoseconds seconds(const char* name, double otherwise) {
  constexpr double longest = 1e9;  // 30 years; nanoseconds then fit
  const std::chrono::duration<double> value(std::min(number(name, otherwise), longest));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(value);
}

}  // namespace environment

// The settings of this process. Invalid values count as absent: `gpucast trace` has checked them.
inline Settings settings_from_environment() {
  using namespace environment;
  Settings result;
  result.folder = variable("GPUCAST_TRACE");
  std::istringstream paths{std::string(variable("GPUCAST_TRACE_CUPTI"))};
  for (std::string path; std::getline(paths, path, ':');)
    if (!path.empty()) result.cupti.push_back(path);
  result.whole_graphs = variable("GPUCAST_TRACE_GRAPHS") == "whole";
  result.after = seconds("GPUCAST_TRACE_AFTER", 0);
  result.duration = seconds("GPUCAST_TRACE_SECONDS", 0);
  result.calls = static_cast<std::uint64_t>(number("GPUCAST_TRACE_CALLS", 0));
  result.phase = seconds("GPUCAST_TRACE_PHASE", 0.05);
  constexpr double longest_light = 1e6;
  const double ratio = number("GPUCAST_TRACE_LIGHT_TO_FULL", result.light_to_full);
  result.light_to_full = static_cast<int>(std::clamp(ratio, 1.0, longest_light));
  result.begins_full = variable("GPUCAST_TRACE_BEGIN") != "light";
  result.only = variable("GPUCAST_TRACE_ONLY");
  result.flush = seconds("GPUCAST_TRACE_FLUSH", 0.1);
  return result;
}

}  // namespace gpucast::trace

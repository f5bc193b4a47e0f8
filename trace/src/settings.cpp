#include "settings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace gpucast::trace {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

double number(const char* name, double otherwise) {
  const std::string text(variable(name));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && *end == '\0';
  return whole && std::isfinite(value) && value >= 0 ? value : otherwise;
}

std::chrono::nanoseconds seconds(const char* name, double otherwise) {
  constexpr double longest = 1e9;  // 30 years; nanoseconds then fit
  const std::chrono::duration<double> value(std::min(number(name, otherwise), longest));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(value);
}

}  // namespace

Settings settings_from_environment() {
  Settings result;
  result.folder = variable("GPUCAST_TRACE");
  std::istringstream paths{std::string(variable("GPUCAST_TRACE_CUPTI"))};
  for (std::string path; std::getline(paths, path, ':');) {
    if (!path.empty()) result.cupti.push_back(path);
  }
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

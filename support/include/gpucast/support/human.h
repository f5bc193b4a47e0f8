// Formats figures for people.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace gpucast::support {

// Formats like printf.
inline std::string figure(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// 12.3 GiB
inline std::string human_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units{" bytes", " KiB", " MiB", " GiB", " TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return figure(unit == 0 ? "%.0f" : "%.1f", value) + units[unit];
}

// 52.1 us
inline std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return figure("%.4g us", seconds * 1e6);
  if (seconds < 1) return figure("%.4g ms", seconds * 1e3);
  return figure("%.4g s", seconds);
}

// 3 min 20 s
inline std::string human_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

}  // namespace gpucast::support

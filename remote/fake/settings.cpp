#include "fake/settings.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace gpucast::fake {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> result;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) result.push_back(part);
  return result;
}

template <class Number>
void read(const char* name, Number& number) {
  const std::string text = variable(name);
  if (!text.empty()) number = static_cast<Number>(std::stoull(text, nullptr, 0));
}

// The values by name, from NAME:VALUE,...
std::map<std::string, std::string> values(const char* name) {
  std::map<std::string, std::string> result;
  for (const std::string& entry : split(variable(name), ',')) {
    const auto colon = entry.find(':');
    if (colon == std::string::npos) throw std::invalid_argument(std::string(name) + ": " + entry);
    result[entry.substr(0, colon)] = entry.substr(colon + 1);
  }
  return result;
}

std::map<std::string, Fault> faults(const char* name, std::size_t fields) {
  std::map<std::string, Fault> result;
  for (const auto& [function, value] : values(name)) {
    const auto parts = split(value, ':');
    if (parts.size() != fields) throw std::invalid_argument(std::string(name) + ": " + value);
    result[function] = {.nth = static_cast<unsigned>(std::stoul(parts[0])),
                        .status = fields > 1 ? std::stoi(parts[1]) : 0};
  }
  return result;
}

}  // namespace

Settings read_settings() {
  Settings result;
  read("GPUCAST_FAKE_DEVICES", result.devices);
  read("GPUCAST_FAKE_MEMORY", result.memory);
  read("GPUCAST_FAKE_BASE", result.base);
  read("GPUCAST_FAKE_LEAD", result.lead);
  result.any_kernel = variable("GPUCAST_FAKE_ANY_KERNEL") == "1";
  result.reaches_all = variable("GPUCAST_FAKE_REACHES_ALL") == "1";
  result.kernels = split(variable("GPUCAST_FAKE_KERNELS"), ':');
  for (const auto& [name, seconds] : values("GPUCAST_FAKE_DELAY"))
    result.delays[name] = std::stod(seconds);
  result.holds = values("GPUCAST_FAKE_HOLD");
  result.failures = faults("GPUCAST_FAKE_FAIL", 2);
  result.kills = faults("GPUCAST_FAKE_KILL", 1);
  return result;
}

}  // namespace gpucast::fake

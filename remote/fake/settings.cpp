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
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) result.push_back(part);
  }
  return result;
}

std::map<std::string, Fault> faults(const char* name, std::size_t fields) {
  std::map<std::string, Fault> result;
  for (const std::string& entry : split(variable(name), ',')) {
    const auto parts = split(entry, ':');
    if (parts.size() != fields) throw std::invalid_argument(std::string(name) + ": " + entry);
    result[parts[0]] = {.nth = static_cast<unsigned>(std::stoul(parts[1])),
                        .status = fields > 2 ? std::stoi(parts[2]) : 0};
  }
  return result;
}

}  // namespace

Settings read_settings() {
  Settings result;
  if (const auto text = variable("GPUCAST_FAKE_DEVICES"); !text.empty())
    result.devices = std::stoi(text);
  if (const auto text = variable("GPUCAST_FAKE_MEMORY"); !text.empty())
    result.memory = std::stoull(text);
  if (const auto text = variable("GPUCAST_FAKE_BASE"); !text.empty())
    result.base = std::stoull(text, nullptr, 0);
  if (const auto text = variable("GPUCAST_FAKE_LEAD"); !text.empty())
    result.lead = std::stoull(text);
  result.reaches_all = variable("GPUCAST_FAKE_REACHES_ALL") == "1";
  result.kernels = split(variable("GPUCAST_FAKE_KERNELS"), ':');
  for (const std::string& entry : split(variable("GPUCAST_FAKE_DELAY"), ',')) {
    const auto parts = split(entry, ':');
    if (parts.size() != 2) throw std::invalid_argument("GPUCAST_FAKE_DELAY: " + entry);
    result.delays[parts[0]] = std::stod(parts[1]);
  }
  for (const std::string& entry : split(variable("GPUCAST_FAKE_HOLD"), ',')) {
    const auto colon = entry.find(':');
    if (colon == std::string::npos) throw std::invalid_argument("GPUCAST_FAKE_HOLD: " + entry);
    result.holds[entry.substr(0, colon)] = entry.substr(colon + 1);
  }
  result.failures = faults("GPUCAST_FAKE_FAIL", 3);
  result.kills = faults("GPUCAST_FAKE_KILL", 2);
  return result;
}

}  // namespace gpucast::fake

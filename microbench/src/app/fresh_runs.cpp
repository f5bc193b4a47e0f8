#include "app/fresh_runs.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gpucast/devices/error.h"

namespace gpucast::microbench {
namespace {

// A word as the shell takes it.
std::string quoted(const std::string& word) {
  std::string text;
  for (const char character : word)
    text += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return "'" + text + "'";
}

}  // namespace

std::string output_of(const std::string& command) {
  // NOLINTNEXTLINE(bugprone-command-processor): its words are ours, or quoted
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "re");
  if (pipe == nullptr) throw devices::DeviceError("no fresh run can be started");
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), count);
  if (pclose(pipe) != 0) throw devices::DeviceError("a fresh run of this program failed");
  return text;
}

RunToRun fresh_runs(int count, const std::vector<std::string>& engine_arguments,
                    const std::stop_token& interrupted) {
  // Two GPUs are enough for all routes, and sooner ready than all. Rough medians will do: runs
  // differ by more.
  std::string command = "CUDA_VISIBLE_DEVICES=\"${CUDA_VISIBLE_DEVICES-0,1}\" exec " +
                        quoted(std::filesystem::read_symlink("/proc/self/exe")) +
                        " measure --probes --budget 1 --interval 0.02 --quiet --output -";
  for (const std::string& argument : engine_arguments)
    command += " " + quoted(argument);
  RunToRun result;
  for (int k = 0; k < count && !interrupted.stop_requested(); ++k) {
    std::istringstream lines(output_of(command));
    for (std::string line; std::getline(lines, line);)
      result.add(Json::parse(line));
  }
  return result;
}

}  // namespace gpucast::microbench

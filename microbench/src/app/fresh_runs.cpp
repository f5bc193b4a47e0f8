#include "app/fresh_runs.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/child_process.h"

namespace gpucast::microbench {

RunToRun fresh_runs(int count, const std::vector<std::string>& engine_arguments,
                    const std::stop_token& interrupted) {
  // Rough medians will do: runs differ by more.
  std::vector<std::string> arguments = {"measure", "--probes", "--budget", "1", "--interval",
                                        "0.02",    "--quiet",  "--output", "-"};
  arguments.insert(arguments.end(), engine_arguments.begin(), engine_arguments.end());
  // Two GPUs are enough for all routes, and sooner ready than all.
  std::vector<std::pair<std::string, std::string>> environment;
  const char* visible = "CUDA_VISIBLE_DEVICES";
  if (std::getenv(visible) == nullptr) environment.emplace_back(visible, "0,1");
  RunToRun result;
  for (int k = 0; k < count && !interrupted.stop_requested(); ++k) {
    std::istringstream lines(output_of("/proc/self/exe", arguments, environment));
    for (std::string line; std::getline(lines, line);)
      result.add(Json::parse(line));
  }
  return result;
}

}  // namespace gpucast::microbench

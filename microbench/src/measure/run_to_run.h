// The variation from one run of the program to the next, beyond the scatter of samples in one run:
// the system places memory differently, and other hardware queues are assigned. Only new processes
// show it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <stop_token>

#include "gpucast/support/errors.h"
#include "gpucast/support/median.h"

namespace gpucast::microbench {

using Json = nlohmann::ordered_json;

class RunToRun {
 public:
  // Adds a record of one of the new runs.
  void add(const Json& record) {
    const auto kind = kind_of(record);
    if (!kind) return;
    medians_[*kind][size_of(record)].push_back(
        support::median(record.at("seconds").get<std::vector<double>>()));
  }

  // Sets a record's `run_to_run`: the number of runs, and the relative standard deviation of the
  // medians of copies of the same kind (launches of the same method), interpolated over the
  // logarithm between the sizes (counts) of the runs. Records without such data do not change.
  void annotate(Json& record) const {
    const auto kind = kind_of(record);
    if (!kind) return;
    const auto known = spread(*kind, size_of(record));
    if (known) record["run_to_run"] = {{"sd", known->sd}, {"runs", known->runs}};
  }

 private:
  struct Spread {
    double sd = 0;
    std::size_t runs = 0;
  };

  // Copies are of the same kind if route and issuer agree (a GPU that sends or one that reads); of
  // host memory only pinning matters.
  static std::optional<std::string> kind_of(const Json& record) {
    const auto word = [&record](const char* field) { return record.value(field, std::string()); };
    if (word("kind") == "launch") return "launch " + word("method");
    if (word("kind") != "transfer") return std::nullopt;
    return word("route") + " " + word("engine") + " " + word("method") +
           (word("memory") == "pageable" ? " pageable" : "") +
           (record.contains("issuer") && word("issuer") == word("to") ? " read" : "");
  }

  static std::int64_t size_of(const Json& record) {
    return record.value(record.contains("bytes") ? "bytes" : "count", std::int64_t{1});
  }

  static double relative_sd(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (const double value : values)
      squares += (value - mean) * (value - mean);
    return std::sqrt(squares / (count - 1)) / mean;
  }

  std::optional<Spread> spread(const std::string& kind, std::int64_t size) const {
    const auto of_kind = medians_.find(kind);
    if (of_kind == medians_.end()) return std::nullopt;
    std::map<std::int64_t, double> known;
    std::size_t runs = 0;
    for (const auto& [at, values] : of_kind->second) {
      if (values.size() < 2) continue;
      known[at] = relative_sd(values);
      runs = std::max(runs, values.size());
    }
    if (known.empty()) return std::nullopt;
    const auto above = known.lower_bound(size);
    if (above == known.end()) return Spread{.sd = known.rbegin()->second, .runs = runs};
    if (above == known.begin()) return Spread{.sd = above->second, .runs = runs};
    const auto below = std::prev(above);
    const auto logarithm = [](std::int64_t bytes) { return std::log(static_cast<double>(bytes)); };
    const double part = (logarithm(size) - logarithm(below->first)) /
                        (logarithm(above->first) - logarithm(below->first));
    return Spread{.sd = below->second + part * (above->second - below->second), .runs = runs};
  }

  std::map<std::string, std::map<std::int64_t, std::vector<double>>> medians_;
};

// Returns the output of a shell command on stdout; its stderr is dropped. Throws DeviceError unless
// it ends with 0.
inline std::string output_of(const std::string& command) {
  // NOLINTNEXTLINE(bugprone-command-processor): its words are ours, or quoted
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "re");
  if (pipe == nullptr) throw support::DeviceError("no fresh run can be started");
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), count);
  if (pclose(pipe) != 0) throw support::DeviceError("a fresh run of this program failed");
  return text;
}

// Quotes a word for the shell.
inline std::string quoted(const std::string& word) {
  std::string text;
  for (const char character : word)
    text += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return "'" + text + "'";
}

// The measurements of the probes (measure --probes) by `count` new processes with these options.
// Throws DeviceError if one fails.
inline RunToRun fresh_runs(int count, const std::vector<std::string>& engine_arguments,
                           const std::stop_token& interrupted) {
  // Two GPUs are enough for all routes, and start faster than all. Rough medians suffice: runs
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

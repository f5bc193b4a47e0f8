// A process's folder within a recording, and what is said there of the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "rows.h"

namespace gpucast::trace {

// Clocks at one moment, in nanoseconds: CUPTI's stamps are the wall clock's, which may be set.
struct ClockReading {
  std::int64_t realtime = 0;
  std::int64_t monotonic = 0;
};
ClockReading read_clocks();

// One that has not ended, and so is no row yet.
struct OpenPhase {
  std::int64_t start_ns = 0;
  bool full = true;
};

struct ProcessFacts {
  std::string ended = "open";  // `exit`, `enough` (recorded all that was asked for), `open`
  std::uint32_t cupti = 0;
  RecordCounts counts{};
  std::uint64_t lost = 0;
  std::optional<OpenPhase> phase;  // nullopt where recording has ended
  ClockReading begun;
  ClockReading now;
};

class ProcessFolder {
 public:
  // Makes the first of RECORDING/0, RECORDING/1, ... that nobody has. Throws std::system_error.
  explicit ProcessFolder(const std::filesystem::path& recording);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Writes process.json, whole or not at all.
  void describe(const ProcessFacts& facts) const;

 private:
  std::filesystem::path path_;
};

// Tells `gpucast trace`, which reads RECORDING/problem-PID at the end, why there is no recording.
void report_problem(const std::filesystem::path& recording, const std::string& line) noexcept;

}  // namespace gpucast::trace

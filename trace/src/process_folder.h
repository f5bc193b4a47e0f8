// A process's folder in a recording, and the description of the process in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "rows.h"

namespace gpucast::trace {

// Readings of several clocks at one moment, in nanoseconds: CUPTI's time stamps are those of the
// wall clock, which may be adjusted.
struct ClockReading {
  std::int64_t realtime = 0;
  std::int64_t monotonic = 0;
};
ClockReading read_clocks();

// A phase that has not ended, and therefore has no row yet.
struct OpenPhase {
  std::int64_t start_ns = 0;
  bool full = true;
};

struct ProcessFacts {
  std::string ended = "open";  // `exit`, `enough` (the requested amount was recorded), `open`
  std::uint32_t cupti = 0;
  RecordCounts counts{};
  std::uint64_t lost = 0;
  std::optional<OpenPhase> phase;  // nullopt once recording has ended
  ClockReading begun;
  ClockReading now;
};

class ProcessFolder {
 public:
  // Makes the first of RECORDING/0, RECORDING/1, ... that does not exist. Throws std::system_error.
  explicit ProcessFolder(const std::filesystem::path& recording);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Writes process.json, completely or not at all.
  void describe(const ProcessFacts& facts) const;

 private:
  std::filesystem::path path_;
};

// Writes the reason for a missing recording to RECORDING/problem-PID, which `gpucast trace` reads
// at the end.
void report_problem(const std::filesystem::path& recording, const std::string& line) noexcept;

}  // namespace gpucast::trace

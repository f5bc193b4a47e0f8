// Measures cells one after the other and writes their records.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "gpucast/records/progress.h"
#include "measure/budget.h"
#include "measure/cell.h"
#include "measure/sample.h"

namespace gpucast::microbench {

struct Run {
  std::vector<Cell> cells;
  std::string machine;
  std::string path;
  SampleOptions samples;
  double budget = 0;  // seconds for all cells; 0: without end
  std::function<void(const nlohmann::ordered_json&)> write;
};

struct Result {
  Cell cell;
  double median = 0;                           // s
  std::optional<double> relative_half_width{};  // of its 95 % interval; nothing: too few samples
};

struct LatencyResult {
  Copy copy;
  Latency latency;
};

struct Outcome {
  std::vector<Result> results;
  std::vector<LatencyResult> latencies;
  std::size_t skipped = 0;  // cannot be made here, or the budget was spent
  std::size_t failed = 0;
  bool interrupted = false;
};

Outcome measure(Engine& engine, const Run& run, records::Progress& progress,
                const std::stop_token& interrupted);

}  // namespace gpucast::microbench

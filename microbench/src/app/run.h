// Measures cells one after the other and writes their records.
#pragma once

#include "gpucast/devices/clock.h"
#include "gpucast/support/progress.h"
#include "measure/run_to_run.h"
#include "measure/sample.h"

namespace gpucast::microbench {

struct Run {
  std::vector<Cell> cells;
  std::string machine;
  std::string path;
  SampleOptions samples;
  double budget = 0;  // seconds from `begin` for all cells; 0: unlimited
  devices::Clock::time_point begin = devices::Clock::now();
  RunToRun run_to_run;  // earlier results
  std::function<void(const Json&)> write;
};

struct Result {
  Cell cell;
  double median = 0;  // s
  // Half the 95 % interval's width over the median, extended by the variation from run to run;
  // nothing if there are too few samples.
  std::optional<double> relative_half_width{};
};

struct LatencyResult {
  Copy copy;
  Latency latency;
};

struct Outcome {
  std::vector<Result> results;
  std::vector<LatencyResult> latencies;
  std::size_t skipped = 0;  // impossible here, or the budget was spent
  std::size_t failed = 0;
  bool interrupted = false;
};

// The results of one kind of cell: body(cell, result).
template <class Wanted, class Body>
void each(const Outcome& outcome, Body body) {
  for (const Result& result : outcome.results)
    if (const auto* cell = std::get_if<Wanted>(&result.cell)) body(*cell, result);
}

Outcome measure(Engine& engine, const Run& run, support::Progress& progress,
                const std::stop_token& interrupted);

// Prints the results as tables.
void print_report(const Outcome& outcome, std::ostream& out);

}  // namespace gpucast::microbench

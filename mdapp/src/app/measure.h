// Measures one cell: warms up, then times steps until their median is known well enough.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/plan.h"
#include "gpucast/support/progress.h"
#include "gpucast/support/stopping.h"

namespace gpucast::mdapp {

// The stopping rule of a cell.
struct Enough {
  std::optional<std::size_t> steps = std::nullopt;  // a fixed number of steps
  double relative_half_width = 0.01;                // of the median's 95 % interval
  double min_seconds = 0;                           // of timed steps
  double max_seconds = 2;
};

struct MeasureOptions {
  Enough enough;
  support::WarmUp::Options warm_up;
  bool energy = false;  // measure its drift
  bool phases = true;   // time some steps phase by phase
};

struct Measured {
  std::vector<double> seconds{};                      // of each timed step
  std::vector<Phases> phases{};                       // of steps in between
  Traffic bytes_a_step{};                             // over all devices
  std::optional<double> energy_drift = std::nullopt;  // relative
  bool interrupted = false;
};

// Throws what the stepper throws. All processes call it together; the first one's clock decides.
Measured measure(Stepper& stepper, const MeasureOptions& options, Processes& processes,
                 const std::stop_token& interrupted);

// Common fields of the records of one grid.
struct Common {
  std::string machine;  // id
  std::string path;
  std::string boundary;
  std::function<int(KernelName)> default_block;
};

using Record = nlohmann::ordered_json;

struct GridRun {
  CellSource cells;
  Common common;
  MeasureOptions options;
  std::function<std::unique_ptr<Stepper>(const Cell&)> open;
  std::function<void(const Record&)> write;
};

struct Outcome {
  std::size_t measured = 0;
  std::size_t failed = 0;
  bool interrupted = false;
  bool device_lost = false;
};

// Measures cells one after the other, and writes a record for each. A cell that fails gets a note
// among the records and a line on stderr; the others continue unless a device was lost. With
// several processes, the first failure is rethrown after the note: a single process cannot
// continue.
Outcome measure_grid(const GridRun& run, Context& context, support::Progress& progress);

}  // namespace gpucast::mdapp

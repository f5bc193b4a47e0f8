// Measures cells one after the other, and writes a record for each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/command.h"
#include "app/measure.h"
#include "app/plan.h"
#include "gpucast/support/progress.h"

namespace gpucast::mdapp {

// What the records of one grid have in common.
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

// A cell that fails gets a note among the records and a line on stderr; the others go on unless a
// device was lost. With several processes, the first failure is thrown on after the note: one of
// them alone cannot go on.
Outcome measure_grid(const GridRun& run, Context& context, support::Progress& progress);

}  // namespace gpucast::mdapp

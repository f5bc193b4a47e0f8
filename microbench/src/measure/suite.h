// The questions, as lists of cells.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/engine.h"
#include "measure/cell.h"

namespace gpucast::microbench {

struct Questions {
  bool transfers = true;
  bool concurrent = true;
  bool launches = true;
  bool overlap = true;
  bool skeleton = true;
  bool host_memory = true;
};

struct Suite {
  std::vector<int> devices;
  std::vector<records::Memory> memories;  // of the host
  std::int64_t largest = 0;               // bytes
  // Bytes of copies that are under way together, with the host and between devices; each is also
  // measured alone.
  std::int64_t together = 0;
  std::int64_t together_between = 0;
  std::int64_t skeleton = 0;  // sent to each device by the largest skeleton of a step
  std::int64_t loop = 0;      // of each array of a loop over host memory
  // Between CPU devices there is one way to copy, on GPUs several.
  bool gpus = false;
};

// A few cells of each kind, quick to measure: what fresh runs repeat.
std::vector<Cell> probes_of(const Suite& suite);

// The most informative first: a budget may end before the list does. Cells of one set of copies
// stand together, the largest first.
std::vector<Cell> cells_of(const Questions& questions, const Suite& suite);

}  // namespace gpucast::microbench

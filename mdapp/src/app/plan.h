// What is measured: a grid of cells.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/physics_options.h"
#include "engine/engine.h"
#include "schedule/processes.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

struct Grid {
  std::vector<int> n{};
  std::vector<int> gpus{};
  std::vector<Schedule> schedules{};
  std::vector<KernelName> kernels{};
  std::vector<Memory> memories{};  // of star-serial; the others have pinned memory
  int block = 0;
  int j_split = 0;
  bool graph = false;
};

// As the grid's options mean it; only tuned has a split.
KernelChoice kernel_of(const Grid& grid, KernelName name);

struct Cell {
  int n = 0;
  ScheduleOptions schedule;
};

// "n=1000 gpus=4 star-serial claret pinned"
std::string describe(const Cell& cell);

// Where the cells to measure come from, one after the other.
struct CellSource {
  // The next cell, the same on all processes; nothing at the end. Throws InputError.
  std::function<std::optional<Cell>()> next;
  std::size_t total = 0;  // how many there are in all; 0: not known
};

// Those of a plan.
CellSource planned(std::vector<Cell> cells);

// All combinations, sizes innermost. Throws InputError where one of them cannot be measured here.
std::vector<Cell> plan(const Grid& grid, const Physics& physics, const Engine& engine,
                       Processes& processes);

}  // namespace gpucast::mdapp

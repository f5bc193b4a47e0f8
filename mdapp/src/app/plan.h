// What is measured: a grid of cells, or cells as lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/command.h"
#include "engine/engine.h"
#include "gpucast/support/descriptor.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

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

// "1000 4 star-serial tuned pinned" for n, gpus, schedule, kernel and memory; block, j_split and
// graph are those of `common`. `where` ("cells.txt:3") begins the message of what is thrown:
// InputError, which names the field.
Cell parse_cell(const std::string& line, const std::string& where, const Grid& common);

// Cells as lines of a file, or of stdin while somebody still writes them, each read when it is
// needed: whoever writes them may wait for one cell's record before it chooses the next.
class CellLines {
 public:
  // "-": stdin. The first process reads. Throws InputError, which names --cells, where the file
  // cannot be opened.
  CellLines(const std::string& path, Grid common, Processes& processes,
            std::stop_token interrupted);

  // The cell of the next line that is neither empty nor begins with #, the same on all processes;
  // nothing at the end, or once interrupted. Throws InputError.
  std::optional<Cell> next();

 private:
  std::string cell_text();
  bool read_more();

  std::string name_;
  support::Descriptor descriptor_;
  std::string buffer_;  // read, not yet taken
  int number_ = 0;      // of the last line, from 1
  Grid common_;
  Processes& processes_;
  std::stop_token interrupted_;
};

// ---- whether what is asked for fits this machine; asked before anything is measured ----

// Memory of this host that is not in use, bytes.
std::int64_t host_bytes_free();

// Throws InputError where this host cannot hold n particles.
void require_host_memory(int n);

// Throws InputError where the engine does not have the devices, the kernel, or the memory, here or
// on a device; the message names the option and says how much is needed and how much there is.
void require_capacity(const Engine& engine, Processes& processes, int n,
                      const ScheduleOptions& schedule);

}  // namespace gpucast::mdapp

// The cells to measure: a grid, or lines.
#pragma once

#include <stop_token>

#include "app/command.h"
#include "gpucast/support/descriptor.h"

namespace gpucast::mdapp {

struct Cell {
  int n = 0;
  ScheduleOptions schedule;
};

// "n=1000 gpus=4 star-serial claret pinned"
std::string describe(const Cell& cell);

// A source of the cells to measure.
struct CellSource {
  // Returns the next cell, the same on all processes; nothing at the end. Throws InputError.
  std::function<std::optional<Cell>()> next;
  std::size_t total = 0;  // total number of cells; 0: unknown
};

// The cells of a plan.
CellSource planned(std::vector<Cell> cells);

// All combinations, with sizes innermost. Throws InputError if one of them cannot be measured here.
std::vector<Cell> plan(const Grid& grid, const Physics& physics, const Engine& engine,
                       Processes& processes);

// Parses "1000 4 star-serial tuned pinned" for n, gpus, schedule, kernel and memory; block, j_split
// and graph are those of `common`. Throws InputError, which names the field and begins with `where`
// ("cells.txt:3").
Cell parse_cell(const std::string& line, const std::string& where, const Grid& common);

// Cells as lines of a file or of stdin, which may still be written; each is read when it is needed:
// the writer may wait for one cell's record before it chooses the next.
class CellLines {
 public:
  // "-": stdin. The first process reads. Throws InputError, which names --cells, if the file cannot
  // be opened.
  CellLines(const std::string& path, Grid common, Processes& processes,
            std::stop_token interrupted);

  // Returns the cell of the next line that is not empty and does not begin with #, the same on all
  // processes; nothing at the end, or once interrupted. Throws InputError.
  std::optional<Cell> next();

 private:
  std::string cell_text();
  bool read_more();

  std::string name_;
  support::Descriptor descriptor_;
  std::string buffer_;  // read, but not used yet
  int number_ = 0;      // of the last line, from 1
  Grid common_;
  Processes& processes_;
  std::stop_token interrupted_;
};

// ---- checks before the measurement that this machine has the resources ----

// Bytes of free memory on this host.
std::int64_t host_bytes_free();

// Throws InputError if this host cannot hold n particles.
void require_host_memory(int n);

// Throws InputError if the engine lacks the devices, the kernel, or the memory, here or on a
// device; the message names the option, and the needed and available amounts.
void require_capacity(const Engine& engine, Processes& processes, int n,
                      const ScheduleOptions& schedule);

}  // namespace gpucast::mdapp

// Cells as lines of a file, or of stdin while somebody still writes them, each read when it is
// needed: whoever writes them may wait for one cell's record before it chooses the next.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "app/plan.h"
#include "gpucast/support/descriptor.h"
#include "schedule/processes.h"

namespace gpucast::mdapp {

// "1000 4 star-serial tuned pinned" for n, gpus, schedule, kernel and memory; block, j_split and
// graph are those of `common`. `where` ("cells.txt:3") begins the message of what is thrown:
// InputError, which names the field.
Cell parse_cell(const std::string& line, const std::string& where, const Grid& common);

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

}  // namespace gpucast::mdapp

// Cells as lines of text, each read when it is needed: whoever writes them may wait for one cell's
// record before it chooses the next.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "app/cell_source.h"
#include "app/input_lines.h"
#include "schedule/processes.h"

namespace gpucast::mdapp {

// "1000 4 star-serial tuned pinned" for n, gpus, schedule, kernel and memory; block, j_split and
// graph are those of `common`. `where` ("cells.txt:3") begins the message of what is thrown:
// InputError, which names the field.
Cell parse_cell(const std::string& line, const std::string& where, const Grid& common);

// Empty lines and those that begin with # are passed over. The first process reads.
class CellLines : public CellSource {
 public:
  CellLines(InputLines& lines, Grid common, Processes& processes, std::stop_token interrupted);

  std::optional<Cell> next() override;
  std::size_t total() const override { return 0; }

 private:
  std::optional<Cell> read();

  InputLines& lines_;
  Grid common_;
  Processes& processes_;
  std::stop_token interrupted_;
};

}  // namespace gpucast::mdapp

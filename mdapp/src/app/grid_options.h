// The grid's options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/plan.h"
#include "gpucast/support/command_line.h"

namespace gpucast::mdapp {

class GridOptions {
 public:
  void declare_n(support::Options command);
  // --cells, in place of all that names the cells of a grid; after the two others.
  void declare_cells(support::Options command);
  void declare_schedule(support::Options command, bool lists);
  // Throw InputError.
  Grid read() const;
  Grid read_common() const;                            // of cells that are lines: what no line says
  const std::string& cells() const { return cells_; }  // the file with them; empty: a grid
  ScheduleOptions read_one() const;                    // one of each, where lists make no sense

  // Throws InputError, `why` after the option's name, where the user gave one of these options.
  void refuse_given(const std::string& why) const;

 private:
  Grid read_schedules() const;

  std::string n_;
  std::string cells_;
  std::string gpus_ = "1";
  std::string schedules_ = "star-serial";
  std::string kernels_ = "claret";
  std::string memories_ = "pageable";
  int block_ = 0;
  int j_split_ = 0;
  bool graph_ = false;
  std::vector<support::Option> declared_;
  std::vector<support::Option> of_grid_;  // what --cells stands in place of
  std::optional<support::Option> memory_;
};

// A list of whole numbers from 1 to `most`. Throws InputError.
std::vector<int> counts(const char* option, const std::string& text, int most);

}  // namespace gpucast::mdapp

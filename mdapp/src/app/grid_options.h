// The grid's options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/plan.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/support/command_line.h"

namespace gpucast::mdapp {

class GridOptions {
 public:
  void declare_n(CLI::App* command);
  // --cells, in place of all that names the cells of a grid; after the two others.
  void declare_cells(CLI::App* command);
  void declare_schedule(CLI::App* command, bool lists);
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
  std::vector<CLI::Option*> declared_;
  std::vector<CLI::Option*> of_grid_;  // what --cells stands in place of
  CLI::Option* memory_ = nullptr;
};

// A list of whole numbers from 1 to `most`. Throws InputError.
std::vector<int> counts(const char* option, const std::string& text, int most);

// Throws InputError for options of devices, and for several processes: double precision computes on
// this host's threads.
void require_no_devices(const devices::EngineOptions& engine, const GridOptions& schedule,
                        const Context& context);

}  // namespace gpucast::mdapp

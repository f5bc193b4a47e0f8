// What every command works with besides its own options.
#pragma once

#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include "schedule/processes.h"

namespace gpucast::mdapp {

inline constexpr const char* program = "gpucast-mdapp";

struct Context {
  std::vector<std::string> command_line;
  std::stop_token interrupted;
  Processes& processes;
  std::ostream& out;
  std::ostream& err;

  // One of the processes writes; the others compute beside it.
  bool writes() const { return processes.rank() == 0; }
};

}  // namespace gpucast::mdapp

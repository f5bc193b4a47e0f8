// What every command works with besides its own options.
#pragma once

#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include "gpucast/support/errors.h"
#include "schedule/processes.h"

namespace gpucast::mdapp {

inline constexpr const char* program = "gpucast-mdapp";

struct Context {
  std::vector<std::string> command_line;
  std::stop_token interrupted;
  Processes& processes;
  std::ostream& out;  // of the first process; what others write goes nowhere
  std::ostream& err;

  // One of the processes writes files; the others compute beside it.
  bool writes() const { return processes.rank() == 0; }
};

// Throws InputError where several were started: only the schedule mpi uses them.
inline void require_one_process(const Context& context, const std::string& what) {
  if (context.processes.size() > 1) throw support::InputError(what + ": runs in one process");
}

}  // namespace gpucast::mdapp

// The program's subcommands, and what each works with beyond its own options.
#pragma once

#include <memory>
#include <string>

#include "gpucast/support/command_line.h"
#include "gpucast/support/context.h"
#include "gpucast/support/errors.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

inline constexpr const char* program = "gpucast-mdapp";

// `out` and `err` are those of the first process; what others write goes nowhere.
struct Context : support::Context {
  Processes& processes;

  // One of the processes writes files; the others compute beside it.
  bool writes() const { return processes.rank() == 0; }
};

using support::require;

// Throws InputError where several were started: only the schedule mpi uses them.
inline void require_one_process(const Context& context, const std::string& what) {
  require(context.processes.size() == 1, what + ": runs in one process");
}

using Command = support::Command<Context>;

std::unique_ptr<Command> measure_command();
std::unique_ptr<Command> simulate_command();
std::unique_ptr<Command> forces_command();
std::unique_ptr<Command> check_command();
std::unique_ptr<Command> throughput_command();

}  // namespace gpucast::mdapp

// The program's subcommands.
#pragma once

#include <memory>

#include "gpucast/support/command_line.h"
#include "gpucast/support/context.h"

namespace gpucast::microbench {

inline constexpr const char* program = "gpucast-microbench";

using support::Context;
using Command = support::Command<Context>;

std::unique_ptr<Command> measure_command();
std::unique_ptr<Command> exercise_command();
std::unique_ptr<Command> skeleton_command();
std::unique_ptr<Command> topology_command();
std::unique_ptr<Command> check_command();

}  // namespace gpucast::microbench

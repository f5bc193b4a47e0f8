// The program's subcommands.
#pragma once

#include <memory>

#include "app/context.h"
#include "gpucast/support/command_line.h"

namespace gpucast::microbench {

using Command = support::Command<Context>;

std::unique_ptr<Command> measure_command();
std::unique_ptr<Command> exercise_command();
std::unique_ptr<Command> topology_command();
std::unique_ptr<Command> check_command();

}  // namespace gpucast::microbench

// The program's subcommands.
#pragma once

#include <memory>

#include "app/context.h"
#include "gpucast/support/command_line.h"

namespace gpucast::mdapp {

using Command = support::Command<Context>;

std::unique_ptr<Command> measure_command();
std::unique_ptr<Command> simulate_command();
std::unique_ptr<Command> forces_command();
std::unique_ptr<Command> check_command();
std::unique_ptr<Command> throughput_command();

}  // namespace gpucast::mdapp

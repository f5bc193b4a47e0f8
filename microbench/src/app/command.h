// The program's subcommands.
#pragma once

#include "engine/engine.h"
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

// The devices that a list names (empty: all). Throws InputError for one that is not there.
std::vector<int> devices_of(const std::string& list, const Engine& engine);

}  // namespace gpucast::microbench

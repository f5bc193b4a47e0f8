#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "app/command.h"
#include "gpucast/records/errors.h"

namespace gpucast::microbench {
namespace {

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

int run_command_line(Context& context) {
  CLI::App app("What transfers and launches cost, on every path to this machine's devices.",
               program);
  app.set_version_flag("--version", GPUCAST_VERSION);
  app.require_subcommand(0, 1);
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
  for (auto make : {measure_command, exercise_command, topology_command, check_command}) {
    auto command = make();
    CLI::App& declared = command->declare(app);
    commands.emplace_back(&declared, std::move(command));
  }
  std::vector<std::string> arguments(context.command_line.begin() + 1, context.command_line.end());
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked, context.out, context.err);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw records::InputError(one_line(error.what()) + "; see --help");
  }
  for (const auto& [declared, command] : commands) {
    if (declared->parsed()) return command->run(context);
  }
  context.out << app.help();
  return 0;
}

}  // namespace gpucast::microbench

// A program's command line, on CLI11: its subcommands are objects, and its help shows defaults.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gpucast/support/interface.h"

namespace gpucast::support {

// For `transform`: a size in bytes, a whole number with or without a unit of 1024 (10GB and 10GiB
// are the same). Except for 0 it must be at least a million: a smaller number lacks its unit.
CLI::Validator in_bytes();

// For `transform`: a time in seconds, a number with or without a unit (90, 90s, 5m, 1h, 2d), as in
// gpucast.
CLI::Validator in_seconds();

// Throws InputError with `why` after the option's name if the user gave it.
void refuse_given(const CLI::Option* option, const std::string& why);

// A program with at most one subcommand, and --version. Variables that options write to must exist
// until the command line is parsed.
class CommandLine : public CLI::App {
 public:
  CommandLine(const std::string& program, const std::string& description);

  // `words`: the program's name, then the user's words. Returns true if a subcommand was chosen, or
  // there are none. Otherwise the user asked for help or the version, or for nothing, and `out`
  // receives it. Throws InputError with one line for errors.
  bool parse(const std::vector<std::string>& words, std::ostream& out);
};

// A subcommand: its options, and what it does with them and with the program's Context.
template <class Context>
class Command : public Interface {
 public:
  // Adds its options to the program's subcommand.
  virtual void declare(CLI::App* command) = 0;
  // Returns the exit status.
  virtual int run(Context& context) = 0;
};

template <class Context>
struct Subcommand {
  const char* name;
  const char* description;
  std::unique_ptr<Command<Context>> (*make)();
};

// Runs the chosen subcommand; returns the exit status. Throws the exceptions of CommandLine::parse
// and the subcommand.
template <class Context>
int run_chosen(CommandLine& line, std::initializer_list<Subcommand<Context>> subcommands,
               Context& context) {
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command<Context>>>> commands;
  for (const auto& [name, description, make] : subcommands) {
    commands.emplace_back(line.add_subcommand(name, description), make());
    commands.back().second->declare(commands.back().first);
  }
  if (!line.parse(context.command_line, context.out)) return 0;
  for (const auto& [declared, command] : commands)
    if (declared->parsed()) return command->run(context);
  return 0;
}

}  // namespace gpucast::support

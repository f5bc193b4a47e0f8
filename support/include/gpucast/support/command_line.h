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

// For `transform`: a size in bytes, a whole number with a unit of 1024 or without (10GB and 10GiB
// are the same). Anything but 0 has to be a million at least: whoever gives less has forgotten the
// unit.
CLI::Validator in_bytes();

// For `transform`: a time in seconds, a number with a unit or without (90, 90s, 5m, 1h, 2d), as
// gpucast has it.
CLI::Validator in_seconds();

// Throws InputError, `why` after the option's name, where the user gave it.
void refuse_given(const CLI::Option* option, const std::string& why);

// A program with at most one subcommand, and --version. What options write to must stay where it is
// until the command line is parsed.
class CommandLine : public CLI::App {
 public:
  CommandLine(const std::string& program, const std::string& description);

  // `words`: the program's name, then what the user gave. True: a subcommand was chosen, or there
  // are none. Otherwise help or the version was asked for, or nothing was, and `out` gets it.
  // Throws InputError, one line, for what does not fit.
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

// Runs the subcommand that the user chose; returns the exit status. Throws what CommandLine::parse
// and the subcommand throw.
template <class Context>
int run_chosen(CommandLine& line, std::initializer_list<Subcommand<Context>> subcommands,
               Context& context) {
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command<Context>>>> commands;
  for (const auto& [name, description, make] : subcommands) {
    commands.emplace_back(line.add_subcommand(name, description), make());
    commands.back().second->declare(commands.back().first);
  }
  if (!line.parse(context.command_line, context.out)) return 0;
  for (const auto& [declared, command] : commands) {
    if (declared->parsed()) return command->run(context);
  }
  return 0;
}

}  // namespace gpucast::support

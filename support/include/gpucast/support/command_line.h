// A program's command line: subcommands, their options, help and version.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gpucast/support/errors.h"
#include "gpucast/support/interface.h"

namespace gpucast::support {

// An option that was declared. A handle: copies mean the same one, as long as its CommandLine
// lives.
class Option {
 public:
  Option(CLI::Option* option) : option_(option) {}  // not explicit: it is the same option

  // In the help: the value that it has now.
  Option show_default() const { return option_->capture_default_str(); }
  Option required() const { return option_->required(); }
  // So many values.
  Option expects(int least, int most) const { return option_->expected(least, most); }
  // The value's limits.
  Option within(int least, int most) const { return option_->check(CLI::Range(least, most)); }
  // Where the user does not give it, this environment variable's value counts.
  Option environment(const std::string& variable) const { return option_->envname(variable); }
  // The user gives one of them or neither.
  Option excludes(Option other) const { return option_->excludes(other.option_); }

  // Once parsed: by the user.
  bool given() const { return option_->count() > 0; }
  // Throws InputError, `why` after the option's name, where the user gave it.
  void refuse_given(const std::string& why) const {
    if (given()) throw InputError(option_->get_name() + ": " + why);
  }

 private:
  CLI::Option* option_;
};

// The options of one subcommand, or of a program without; a handle as Option is. What the user
// gives is written to `value`, which must stay where it is until the command line is parsed.
// `names`: "-o,--output", or a word without dashes for values that have no option in front.
class Options {
 public:
  explicit Options(CLI::App& command) : command_(&command) {}

  template <class Value>
  Option add(const std::string& names, Value& value, const std::string& description) {
    return command_->add_option(names, value, description);
  }
  // A size in bytes: a whole number, with a unit of 1024 or without (10GB and 10GiB are the same).
  // Not 0, it has to be of a million at least: whoever gives less has forgotten the unit.
  Option add_bytes(const std::string& names, std::uint64_t& value, const std::string& description) {
    return command_->add_option(names, value, description)
        ->transform(in_bytes, "SIZE [b, kb(=1024b), ...]");
  }
  // A time in seconds: a number, with a unit or without (90, 90s, 5m, 1h, 2d), as gpucast has it.
  Option add_seconds(const std::string& names, double& value, const std::string& description) {
    static const std::map<std::string, double> units{
        {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
    return command_->add_option(names, value, description)
        ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME"));
  }
  // True where it is given; takes no value.
  Option flag(const std::string& names, bool& value, const std::string& description) {
    return command_->add_flag(names, value, description);
  }

  // Once parsed: the user chose this subcommand.
  bool chosen() const { return command_->parsed(); }

 private:
  static std::string in_bytes(std::string text);

  CLI::App* command_;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& description,
              const std::string& version);

  // The options of a program without subcommands.
  Options options() { return Options(app_); }
  // The user chooses one subcommand or none.
  Options command(const std::string& name, const std::string& description) {
    return Options(*app_.add_subcommand(name, description));
  }

  // `words`: the program's name, then what the user gave. True: a subcommand was chosen, or there
  // are none. Otherwise what the user gets is written to `out`: help, the version, or help where
  // nothing was asked for. Throws InputError, one line, for what does not fit.
  bool parse(const std::vector<std::string>& words, std::ostream& out);

 private:
  CLI::App app_;
};

// A subcommand: its options, and what it does with them and with the program's Context.
template <class Context>
class Command : public Interface {
 public:
  // Adds itself and its options to the program.
  virtual Options declare(CommandLine& line) = 0;
  // Returns the exit status.
  virtual int run(Context& context) = 0;
};

// Runs the subcommand that the user chose of those that `makers` make; returns the exit status.
// Throws what CommandLine::parse and the subcommand throw.
template <class Context, class Makers>
int run_chosen(CommandLine& line, const Makers& makers, Context& context) {
  std::vector<std::pair<Options, std::unique_ptr<Command<Context>>>> commands;
  for (const auto make : makers) {
    auto command = make();
    const Options declared = command->declare(line);
    commands.emplace_back(declared, std::move(command));
  }
  if (!line.parse(context.command_line, context.out)) return 0;
  for (const auto& [declared, command] : commands) {
    if (declared.chosen()) return command->run(context);
  }
  return 0;
}

}  // namespace gpucast::support

// A program's command line: subcommands, their options, help and version.
//
// The only way to the library that parses it, which takes seconds to compile: no header of ours
// includes it, and one source does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpucast::support {

// An option that was declared. A handle: copies mean the same one, as long as its CommandLine
// lives.
class Option {
 public:
  Option show_default() const;  // in the help: the value that it has now
  Option required() const;
  Option expects(int least, int most) const;  // so many values
  Option within(int least, int most) const;   // the value's limits
  // Where the user does not give it, this environment variable's value counts.
  Option environment(const std::string& variable) const;
  Option excludes(Option other) const;  // the user gives one of them or neither

  // Once parsed: by the user.
  bool given() const;
  // Throws InputError, `why` after the option's name, where the user gave it.
  void refuse_given(const std::string& why) const;

 private:
  friend class Options;
  explicit Option(CLI::Option& option) : option_(&option) {}
  CLI::Option* option_;
};

// The options of one subcommand, or of a program without; a handle as Option is. What the user
// gives is written to `value`, which must stay where it is until the command line is parsed.
// `names`: "-o,--output", or a word without dashes for values that have no option in front.
class Options {
 public:
  Option add(const std::string& names, std::string& value, const std::string& description);
  Option add(const std::string& names, int& value, const std::string& description);
  Option add(const std::string& names, double& value, const std::string& description);
  Option add(const std::string& names, std::optional<double>& value,
             const std::string& description);
  Option add(const std::string& names, std::vector<std::string>& value,
             const std::string& description);
  // A size in bytes: a number, with a unit or without (10GB, 512MiB).
  Option add_bytes(const std::string& names, std::uint64_t& value, const std::string& description);
  // True where it is given; takes no value.
  Option flag(const std::string& names, bool& value, const std::string& description);

  // Once parsed: the user chose this subcommand.
  bool chosen() const;

 private:
  friend class CommandLine;
  explicit Options(CLI::App& command) : command_(&command) {}
  CLI::App* command_;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& description,
              const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The options of a program without subcommands.
  Options options();
  // The user chooses one subcommand or none.
  Options command(const std::string& name, const std::string& description);

  // `words`: the program's name, then what the user gave. True: a subcommand was chosen, or there
  // are none. Otherwise what the user gets is written to `out`: help, the version, or help where
  // nothing was asked for. Throws InputError, one line, for what does not fit.
  bool parse(const std::vector<std::string>& words, std::ostream& out);

 private:
  std::unique_ptr<CLI::App> app_;
};

// A subcommand: its options, and what it does with them and with the program's Context.
template <class Context>
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
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

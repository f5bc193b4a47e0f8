#include "gpucast/support/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "gpucast/support/errors.h"

namespace gpucast::support {
namespace {

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

Option Option::show_default() const {
  option_->capture_default_str();
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::expects(int least, int most) const {
  option_->expected(least, most);
  return *this;
}

Option Option::within(int least, int most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::environment(const std::string& variable) const {
  option_->envname(variable);
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

void Option::refuse_given(const std::string& why) const {
  if (given()) throw InputError(option_->get_name() + ": " + why);
}

Option Options::add(const std::string& names, std::string& value, const std::string& description) {
  return Option(*command_->add_option(names, value, description));
}

Option Options::add(const std::string& names, int& value, const std::string& description) {
  return Option(*command_->add_option(names, value, description));
}

Option Options::add(const std::string& names, double& value, const std::string& description) {
  return Option(*command_->add_option(names, value, description));
}

Option Options::add(const std::string& names, std::optional<double>& value,
                    const std::string& description) {
  return Option(*command_->add_option(names, value, description));
}

Option Options::add(const std::string& names, std::vector<std::string>& value,
                    const std::string& description) {
  return Option(*command_->add_option(names, value, description));
}

Option Options::add_bytes(const std::string& names, std::uint64_t& value,
                          const std::string& description) {
  return Option(
      *command_->add_option(names, value, description)->transform(CLI::AsSizeValue(false)));
}

Option Options::flag(const std::string& names, bool& value, const std::string& description) {
  return Option(*command_->add_flag(names, value, description));
}

bool Options::chosen() const { return command_->parsed(); }

CommandLine::CommandLine(const std::string& program, const std::string& description,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, program)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
}

CommandLine::~CommandLine() = default;

Options CommandLine::options() { return Options(*app_); }

Options CommandLine::command(const std::string& name, const std::string& description) {
  return Options(*app_->add_subcommand(name, description));
}

bool CommandLine::parse(const std::vector<std::string>& words, std::ostream& out) {
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app_->parse(arguments);
  } catch (const CLI::Success& asked) {  // --help, --version
    app_->exit(asked, out, out);
    return false;
  } catch (const CLI::ParseError& error) {
    throw InputError(one_line(error.what()) + "; see --help");
  }
  const bool any_declared = !app_->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (!any_declared || !app_->get_subcommands().empty()) return true;
  out << app_->help();
  return false;
}

}  // namespace gpucast::support

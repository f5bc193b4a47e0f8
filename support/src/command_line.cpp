#include "gpucast/support/command_line.h"

#include <algorithm>

namespace gpucast::support {

CommandLine::CommandLine(const std::string& program, const std::string& description,
                         const std::string& version)
    : app_(description, program) {
  app_.set_version_flag("--version", program + " " + version);
  app_.require_subcommand(0, 1);
}

bool CommandLine::parse(const std::vector<std::string>& words, std::ostream& out) {
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app_.parse(arguments);
  } catch (const CLI::Success& asked) {  // --help, --version
    app_.exit(asked, out, out);
    return false;
  } catch (const CLI::ParseError& error) {
    std::string one_line = error.what();
    std::ranges::replace(one_line, '\n', ' ');
    throw InputError(one_line + "; see --help");
  }
  const bool any_declared = !app_.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (!any_declared || !app_.get_subcommands().empty()) return true;
  out << app_.help();
  return false;
}

}  // namespace gpucast::support

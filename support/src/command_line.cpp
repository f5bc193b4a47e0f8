#include "gpucast/support/command_line.h"

#include <algorithm>
#include <cstdint>
#include <regex>

namespace gpucast::support {

std::string Options::in_bytes(std::string text) {
  static const std::regex size("([0-9]{1,19}) *([bB]|[kmgtpeKMGTPE][iI]?[bB]?)?");
  std::smatch found;
  const std::string given = text;
  if (!std::regex_match(given, found, size)) {
    throw CLI::ValidationError("'" + given +
                               "' is no whole number with a unit, as 16GB and 512MB are");
  }
  CLI::AsSizeValue(false)(text);
  constexpr std::uint64_t least = 1'000'000;
  const std::uint64_t bytes = std::stoull(text);
  if (bytes != 0 && bytes < least) {
    throw CLI::ValidationError(text + " bytes are too few, a million are the least" +
                               (found[2].matched ? "" : " (" + given + "GB?)"));
  }
  return text;
}

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

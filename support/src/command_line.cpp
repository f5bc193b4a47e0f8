#include "gpucast/support/command_line.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "gpucast/support/context.h"
#include "gpucast/support/errors.h"

namespace gpucast::support {

namespace {

// Regular expressions are avoided: they take longer to compile than everything else here.
bool skip_one_of(std::string_view letters, std::string_view& text) {
  if (text.empty() || letters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool is_unit_of_bytes(std::string_view text) {
  if (skip_one_of("kmgtpeKMGTPE", text)) skip_one_of("iI", text);
  skip_one_of("bB", text);
  return text.empty();
}

}  // namespace

CLI::Validator in_bytes() {
  const auto convert = [](std::string& text) -> std::string {
    const std::string given = text;
    const std::size_t digits = std::min(given.find_first_not_of("0123456789"), given.size());
    std::string_view unit = std::string_view(given).substr(digits);
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    constexpr std::size_t most_digits = 19;
    if (digits == 0 || digits > most_digits || !is_unit_of_bytes(unit))
      return "'" + given + "' is no whole number with a unit, as 16GB and 512MB are";
    if (auto refused = CLI::AsSizeValue(false)(text); !refused.empty()) return refused;
    constexpr std::uint64_t least = 1'000'000;
    const std::uint64_t bytes = std::stoull(text);
    if (bytes == 0 || bytes >= least) return "";
    return text + " bytes are too few, a million are the least" +
           (unit.empty() ? " (" + given + "GB?)" : "");
  };
  return {convert, "SIZE [b, kb(=1024b), ...]"};
}

CLI::Validator in_seconds() {
  static const std::map<std::string, double> units{
      {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME");
}

void refuse_given(const CLI::Option* option, const std::string& why) {
  if (option->count() > 0) throw InputError(option->get_name() + ": " + why);
}

CommandLine::CommandLine(const std::string& program, const std::string& description)
    : CLI::App(description, program) {
  option_defaults()->always_capture_default();
  set_version_flag("--version", program + " " + support::version);
  require_subcommand(0, 1);
}

bool CommandLine::parse(const std::vector<std::string>& words, std::ostream& out) {
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  std::ranges::reverse(arguments);  // CLI11's order
  try {
    CLI::App::parse(arguments);
  } catch (const CLI::Success& asked) {  // --help, --version
    exit(asked, out, out);
    return false;
  } catch (const CLI::ParseError& error) {
    std::string one_line = error.what();
    std::ranges::replace(one_line, '\n', ' ');
    throw InputError(one_line + "; see --help");
  }
  const bool any_declared = !get_subcommands([](const CLI::App*) { return true; }).empty();
  if (!any_declared || !get_subcommands().empty()) return true;
  out << help();
  return false;
}

}  // namespace gpucast::support

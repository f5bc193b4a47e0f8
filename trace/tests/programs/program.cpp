#include "program.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpucast/devices/clock.h"
#include "gpucast/devices/cuda/gpus.h"
#include "gpucast/records/record_file.h"
#include "gpucast/records/records.h"
#include "gpucast/support/command_line.h"
#include "gpucast/support/context.h"
#include "gpucast/support/human.h"
#include "gpucast/support/median.h"
#include "gpucast/support/number_list.h"
#include "gpucast/support/stopping.h"

namespace gpucast::trace {
namespace {

using devices::Clock;
using support::InputError;

// Number of steps between checks of the stopping rule.
constexpr std::size_t most_in_a_row = 64;
constexpr double longest_row = 0.05;  // s

struct Options {
  std::string n, gpus, settings, steps;
  double interval = 0.005;
  double max_seconds = 0.3;
  double warm_up = 0.2;
  records::OutputOptions output;

  void declare(CLI::App* command) {
    command->add_option("-n,--n", n, "list of sizes, in " + about.unit);
    if (about.most_gpus > 1) command->add_option("--gpus", gpus, "list of numbers of GPUs");
    if (!about.settings.empty()) command->add_option("--case", settings, "list of settings");
    const auto exactly =
        command->add_option("--steps", steps, "exact number of timed steps per cell");
    command
        ->add_option(
            "--interval", interval,
            "steps until the 95 % interval of their median is this narrow (half its width over the "
            "median)")
        ->excludes(exactly);
    command->add_option("--max-time", max_seconds, "maximum seconds of timed steps per cell")
        ->transform(support::in_seconds())
        ->excludes(exactly);
    command
        ->add_option(
            "--warm-up", warm_up,
            "seconds of steps before those that count, and up to five times as long until a GPU's "
            "clock has settled")
        ->transform(support::in_seconds());
    output.declare(command);
  }
};

std::vector<std::string> settings_of(const std::string& list) {
  if (about.settings.empty()) return {""};
  std::vector<std::string> chosen;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    if (std::ranges::find(about.settings, word) == about.settings.end()) {
      std::string choices;
      for (const std::string& setting : about.settings)
        choices.append(choices.empty() ? "" : ", ").append(setting);
      throw InputError(std::string("--case: \"").append(word).append("\" is none of ") + choices);
    }
    chosen.push_back(word);
    begin = end + 1;
  }
  return chosen;
}

std::vector<Cell> cells_of(const Options& options) {
  std::vector<Cell> cells;
  const support::Bounds gpus{.least = 1, .most = about.most_gpus};
  for (const std::string& setting : settings_of(options.settings)) {
    for (const std::int64_t n : support::parse_number_list("--n", options.n, {}))
      for (const std::int64_t count : support::parse_number_list("--gpus", options.gpus, gpus))
        cells.push_back({.setting = setting, .n = n, .gpus = static_cast<int>(count)});
  }
  return cells;
}

// Returns the seconds of consecutive steps. A step ends where the next begins, so that the host's
// work in between belongs to one of them, as in any program's loop.
std::vector<double> timed(Program& program, std::size_t count) {
  std::vector<Clock::time_point> moments;
  moments.reserve(count + 1);
  moments.push_back(Clock::now());
  for (std::size_t k = 0; k < count; ++k) {
    program.step();
    moments.push_back(Clock::now());
  }
  std::vector<double> seconds(count);
  for (std::size_t k = 0; k < count; ++k)
    seconds[k] = std::chrono::duration<double>(moments[k + 1] - moments[k]).count();
  return seconds;
}

std::size_t row_of(double step_seconds) {
  const double fit = step_seconds > 0 ? longest_row / step_seconds : 1;
  return static_cast<std::size_t>(std::clamp(fit, 1.0, 1.0 * most_in_a_row));
}

// At least three steps: the first ones load kernels and touch memory. Returns a step's seconds.
double warm_up(Program& program, double least_seconds) {
  constexpr double patience = 5;
  support::WarmUp warm({.least_seconds = least_seconds, .most_seconds = patience * least_seconds});
  double last = timed(program, 3).back();
  while (!warm.done())
    for (const double seconds : timed(program, row_of(last)))
      warm.add(last = seconds);
  return last;
}

std::vector<double> measure(Program& program, const Options& options) {
  double last = warm_up(program, options.warm_up);
  if (!options.steps.empty()) {
    return timed(program, static_cast<std::size_t>(support::parse_number(
                              "--steps", options.steps, {.least = 1, .most = 1'000'000})));
  }
  support::StopByInterval rule(
      {.relative_half_width = options.interval, .max_seconds = options.max_seconds});
  while (!rule.done())
    for (const double seconds : timed(program, row_of(last)))
      rule.add(last = seconds);
  return rule.samples();
}

records::Step step_of(const Cell& cell) {
  records::Step step{.program = about.name, .n = cell.n, .unit = about.unit, .gpus = cell.gpus};
  if (!cell.setting.empty()) step.case_name = cell.setting;
  return step;
}

std::string describe(const Cell& cell) {
  return about.name + (cell.setting.empty() ? "" : " " + cell.setting) + ", n " +
         std::to_string(cell.n) + ", " + std::to_string(cell.gpus) +
         (cell.gpus == 1 ? " GPU" : " GPUs");
}

int gpus_here(const std::vector<Cell>& cells) {
  std::string why_none;
  const int count = devices::cuda::gpu_count(why_none);
  if (count == 0) throw std::runtime_error("no GPU: " + why_none);
  for (const Cell& cell : cells) {
    if (cell.gpus > count) {
      throw InputError("--gpus: " + std::to_string(cell.gpus) + " wanted, " +
                       std::to_string(count) + " present");
    }
  }
  return count;
}

// Returns the exit status.
int measure_all(const Options& options, const std::vector<std::string>& command_line) {
  support::require_positive("--interval", options.interval);
  support::require_positive("--max-time", options.max_seconds);
  support::require_not_negative("--warm-up", options.warm_up);
  const auto cells = cells_of(options);
  const auto if_exists = options.output.if_exists();
  auto machine = records::this_machine({.name = about.name, .version = support::version},
                                       command_line, options.output.machine());
  machine.gpus = devices::cuda::describe_all(gpus_here(cells));
  const std::string path = options.output.label_or(name(devices::cuda::path()));
  machine.driver = devices::cuda::driver_version();
  machine.runtime = devices::cuda::runtime_version();
  records::RecordFile file(options.output.path(), if_exists);
  int status = 0;
  bool begun = false;
  for (const Cell& cell : cells) {
    const auto program = make(cell);
    const auto seconds = measure(*program, options);
    if (const std::string wrong = program->wrong(); !wrong.empty()) {
      std::cerr << describe(cell) << ": error: wrong result: " << wrong << "\n";
      status = 1;
      continue;
    }
    if (!std::exchange(begun, true)) file.write(to_json(machine));
    file.write(to_json(step_of(cell), {.machine = machine.id, .path = path, .seconds = seconds}));
    std::cerr << describe(cell) << ": " << support::human_seconds(support::median(seconds)) << ", "
              << seconds.size() << " steps\n";
  }
  file.close();
  return status;
}

}  // namespace

int side_of(std::int64_t n, int least) {
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(n))));
  constexpr std::int64_t most = 1 << 15;
  if (side * side != n || side < least || side > most) {
    throw InputError("--n: " + std::to_string(n) + " is not the square of a number from " +
                     std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int>(side);
}

}  // namespace gpucast::trace

int main(int argc, char** argv) {
  using namespace gpucast;
  using trace::about;
  try {
    const std::vector<std::string> command_line(argv, argv + argc);
    support::CommandLine line(about.name, about.what);
    trace::Options options;
    options.n = about.sizes;
    options.gpus = "1";
    for (const std::string& setting : about.settings)
      options.settings += (options.settings.empty() ? "" : ",") + setting;
    options.declare(&line);
    if (!line.parse(command_line, std::cout)) return 0;
    return trace::measure_all(options, command_line);
  } catch (const std::exception& error) {
    std::cerr << about.name << ": error: " << error.what() << "\n";
    return support::exit_status(error);
  }
}

// gpucast-microbench skeleton: steps of a traced program, made again on this path.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/command.h"
#include "engine/engine.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/records/output_options.h"
#include "gpucast/records/record_file.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/human.h"
#include "gpucast/support/median.h"
#include "gpucast/support/stopping.h"

namespace gpucast::microbench {
namespace {

using support::InputError;

struct Named {
  std::string name;
  TracedProgram program;
};

class SkeletonOfTrace : public Command {
 public:
  support::Options declare(support::CommandLine& line) override {
    support::Options command = line.command(
        "skeleton",
        "steps of a traced program without its work: the same calls, kernels that take as long");
    constexpr int most = 1000;
    command.add("--trace", files_, "calls of some steps, files of gpucast.calls/1")
        .required()
        .expects(1, most);
    engine_.declare(command);
    command
        .add("--interval", interval_,
             "steps until the 95 % interval of their median is so narrow (half its width over the "
             "median)")
        .show_default();
    command.add_seconds("--max-time", max_seconds_, "seconds of steps a file at most")
        .show_default();
    command.add_seconds("--warm-up", warm_up_, "seconds before the first file's").show_default();
    output_.declare(command);
    return command;
  }

  int run(Context& context) override {
    require(interval_ > 0, "--interval: must be greater than 0");
    require(max_seconds_ > 0 && std::isfinite(max_seconds_), "--max-time: must be greater than 0");
    require(warm_up_ >= 0 && std::isfinite(warm_up_), "--warm-up: must not be negative");
    const auto programs = read_all();
    const auto if_exists = output_.if_exists();
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    for (const Named& each : programs) {
      if (each.program.devices > engine->count()) {
        throw InputError(each.name + ": " + std::to_string(each.program.devices) +
                         " devices wanted, " + std::to_string(engine->count()) + " present");
      }
    }
    const auto machine = machine_record(*engine, context, output_.machine());
    const std::string path = output_.label_or(name(engine->path()));
    records::RecordFile file(output_.path(), if_exists);
    file.write(to_json(machine));
    engine->warm_up(warm_up_);
    for (const Named& each : programs) {
      const std::string label = std::filesystem::path(each.name).stem().string();
      records::Step step = record_of(each.program, label);
      step.machine = machine.id;
      step.path = path;
      step.seconds = measured(*engine, each.program, context);
      if (step.seconds.empty()) break;
      file.write(to_json(step));
      context.err << label << ": " << support::human_seconds(support::median(step.seconds)) << ", "
                  << step.seconds.size() << " steps\n";
    }
    file.close();
    return context.interrupted.stop_requested() ? 1 : 0;
  }

 private:
  static void require(bool holds, const char* otherwise) {
    if (!holds) throw InputError(otherwise);
  }

  std::vector<Named> read_all() const {
    std::vector<Named> programs;
    for (const std::string& each : files_) {
      std::ifstream file(each);
      if (!file) throw InputError("--trace: " + each + ": cannot be read");
      programs.push_back({.name = each, .program = read_calls(file, each)});
    }
    return programs;
  }

  // A program of its own, `skeleton`, with the file as its case and calls a step as its size.
  static records::Step record_of(const TracedProgram& of, const std::string& label) {
    records::Step step;
    step.program = "skeleton";
    step.case_name = label;
    const auto steps = static_cast<std::size_t>(of.steps);
    step.n = static_cast<std::int64_t>((of.calls.size() + steps - 1) / steps);
    step.unit = "calls";
    step.gpus = std::max(1, of.devices);
    return step;
  }

  std::vector<double> measured(Engine& engine, const TracedProgram& program,
                               const Context& context) const {
    const auto steps = engine.traced_steps(program);
    steps->make();
    support::StopByInterval rule({.relative_half_width = interval_, .max_seconds = max_seconds_});
    while (!rule.done() && !context.interrupted.stop_requested()) {
      for (const double seconds : steps->make())
        rule.add(seconds);
    }
    return rule.samples();
  }

  std::vector<std::string> files_;
  devices::EngineOptions engine_;
  double interval_ = 0.005;
  double max_seconds_ = 0.3;
  double warm_up_ = 0.2;
  records::OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> skeleton_command() { return std::make_unique<SkeletonOfTrace>(); }

}  // namespace gpucast::microbench

// gpucast-microbench skeleton: repeats the steps of a traced program on this path.
#include <filesystem>
#include <fstream>
#include <utility>

#include "app/command.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/records/record_file.h"
#include "gpucast/support/human.h"
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
  void declare(CLI::App* command) override {
    constexpr int most = 1000;
    command->add_option("--trace", files_, "calls of some steps, files of gpucast.calls/1")
        ->required()
        ->expected(1, most)
        ->default_str("");
    engine_.declare(command);
    command->add_option(
        "--interval", interval_,
        "steps until the 95 % interval of their median is this narrow (half its width over the "
        "median)");
    command->add_option("--max-time", max_seconds_, "maximum seconds of steps per file")
        ->transform(support::in_seconds());
    command->add_option("--warm-up", warm_up_, "seconds of warming up before the first file")
        ->transform(support::in_seconds());
    output_.declare(command);
  }

  int run(Context& context) override {
    support::require_positive("--interval", interval_);
    support::require_positive("--max-time", max_seconds_);
    support::require_not_negative("--warm-up", warm_up_);
    const auto programs = read_all();
    const auto if_exists = output_.if_exists();
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    for (const Named& named : programs) {
      if (named.program.devices > engine->count()) {
        throw InputError(named.name + ": " + std::to_string(named.program.devices) +
                         " devices wanted, " + std::to_string(engine->count()) + " present");
      }
    }
    const auto machine = machine_record(*engine, context, output_.machine());
    const std::string path = output_.label_or(name(engine->path()));
    records::RecordFile file(output_.path(), if_exists);
    file.write(to_json(machine));
    engine->warm_up(warm_up_);
    for (const Named& named : programs) {
      const std::string label = std::filesystem::path(named.name).stem().string();
      const auto seconds = measured(*engine, named.program, context);
      if (seconds.empty()) break;
      file.write(to_json(step_of(named.program, label),
                         {.machine = machine.id, .path = path, .seconds = seconds}));
      context.err << label << ": " << support::human_seconds(support::median(seconds)) << ", "
                  << seconds.size() << " steps\n";
    }
    file.close();
    return context.interrupted.stop_requested() ? 1 : 0;
  }

 private:
  std::vector<Named> read_all() const {
    std::vector<Named> programs;
    for (const std::string& name : files_) {
      std::ifstream file(name);
      if (!file) throw InputError("--trace: " + name + ": cannot be read");
      programs.push_back({.name = name, .program = read_calls(file, name)});
    }
    return programs;
  }

  // The records have their own program name, `skeleton`, with the file as case and the calls per
  // step as size.
  static records::Step step_of(const TracedProgram& program, const std::string& label) {
    const auto steps = static_cast<std::size_t>(program.steps);
    return {.program = "skeleton",
            .case_name = label,
            .n = static_cast<std::int64_t>((program.calls.size() + steps - 1) / steps),
            .unit = "calls",
            .gpus = std::max(1, program.devices)};
  }

  std::vector<double> measured(Engine& engine, const TracedProgram& program,
                               const Context& context) const {
    const auto steps = engine.traced_steps(program);
    steps->make();
    support::StopByInterval rule({.relative_half_width = interval_, .max_seconds = max_seconds_});
    while (!rule.done() && !context.interrupted.stop_requested())
      for (const double seconds : steps->make())
        rule.add(seconds);
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

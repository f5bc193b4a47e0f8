// gpucast-mdapp measure: times steps over a grid, and writes records of them.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/command.h"
#include "app/measure.h"
#include "app/plan.h"
#include "engine/engine.h"
#include "gpucast/records/record_file.h"
#include "gpucast/support/number_list.h"
#include "gpucast/support/progress.h"

namespace gpucast::mdapp {
namespace {

class StoppingOptions {
 public:
  void declare(CLI::App* command) {
    CLI::Option* steps =
        command->add_option("--steps", steps_, "exact number of timed steps per cell");
    command
        ->add_option("--interval", interval_,
                     "make steps until the 95 % interval of their median is this narrow (half "
                     "its width over the median)")
        ->excludes(steps);
    command
        ->add_option("--min-time", min_seconds_,
                     "minimum seconds of timed steps per cell, unless --max-time ends them")
        ->transform(support::in_seconds())
        ->excludes(steps);
    command->add_option("--max-time", max_seconds_, "maximum seconds of timed steps per cell")
        ->transform(support::in_seconds())
        ->excludes(steps);
    command
        ->add_option("--warm-up", warm_up_,
                     "seconds of untimed steps before; for a GPU that has been idle, up to 25 "
                     "times as long, until its clock has settled")
        ->transform(support::in_seconds());
    command->add_flag("--energy", energy_, "record how far the total energy drifts");
  }

  MeasureOptions read(const Physics& physics) const {
    support::require_positive("--interval", interval_);
    support::require_not_negative("--min-time", min_seconds_);
    support::require_positive("--max-time", max_seconds_);
    support::require_not_negative("--warm-up", warm_up_);
    require(!energy_ || physics.integrator.kind == IntegratorKind::verlet,
            "--energy: only the integrator verlet conserves it");
    constexpr double longest = 25;
    MeasureOptions options{
        .enough = {.relative_half_width = interval_,
                   .min_seconds = min_seconds_,
                   .max_seconds = max_seconds_},
        .warm_up = {.least_seconds = warm_up_, .most_seconds = longest * warm_up_},
        .energy = energy_};
    if (!steps_.empty()) {
      options.enough.steps = static_cast<std::size_t>(
          support::parse_number("--steps", steps_, {.least = 1, .most = 1'000'000'000}));
    }
    return options;
  }

 private:
  std::string steps_;
  double interval_ = 0.01;
  double min_seconds_ = 0;
  double max_seconds_ = 2;
  double warm_up_ = 0.2;
  bool energy_ = false;
};

// Prints one line if a run did not end well. `cells`: their number, 0 if it is unknown.
int report(const Outcome& outcome, std::size_t cells, Context& context) {
  if (outcome.interrupted) {
    context.err << program << ": error: interrupted: " << outcome.measured;
    if (cells > 0) context.err << " of " << cells;
    context.err << (std::max(cells, outcome.measured) == 1 ? " cell" : " cells") << " measured\n";
  }
  return outcome.interrupted || outcome.failed > 0 ? 1 : 0;
}

class Measure : public Command {
 public:
  void declare(CLI::App* command) override {
    grid_.declare(command, true);
    engine_.declare(command);
    physics_.declare_potential(command);
    physics_.declare_motion(command);
    stopping_.declare(command);
    output_.declare(command);
    command->add_flag("--quiet", quiet_, "no progress on stderr");
  }

  int run(Context& context) override {
    const Grid grid = grid_.cells().empty() ? grid_.read() : grid_.read_common();
    if (!grid_.cells().empty())
      lines_.emplace(grid_.cells(), grid, context.processes, context.interrupted);
    const Physics physics = physics_.read();
    const MeasureOptions options = stopping_.read(physics);
    const auto if_exists = output_.if_exists();
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    const std::string label = output_.label_or(name(engine->path()));
    const auto machine = machine_record(*engine, context, output_.machine());
    const CellSource cells = lines_ ? CellSource{.next = [this] { return lines_->next(); }}
                                    : planned(plan(grid, physics, *engine, context.processes));
    std::optional<records::RecordFile> file;
    if (context.writes()) file.emplace(output_.path(), if_exists);
    warn(physics, context.err);
    const auto write = [&file](const Record& record) {
      if (file) file->write(record);
    };
    const GridRun run{
        .cells = cells,
        .common = {.machine = machine.id,
                   .path = label,
                   .boundary = support::name(physics.around.kind),
                   .default_block =
                       [&](KernelName kernel) { return engine->default_block(kernel); }},
        .options = options,
        .open =
            [&](const Cell& cell) {
              // A plan has been checked as a whole.
              if (lines_) require_capacity(*engine, context.processes, cell.n, cell.schedule);
              return make_stepper(*engine, start_of(physics, cell.n), physics.integrator,
                                  cell.schedule);
            },
        .write = write};
    write(to_json(machine));
    Outcome outcome;
    {
      support::Progress progress(context.err, support::Progress::for_stderr(quiet_), cells.total);
      outcome = measure_grid(run, context, progress);
    }
    if (file) file->close();
    return report(outcome, cells.total, context);
  }

 private:
  GridOptions grid_;
  std::optional<CellLines> lines_;
  devices::EngineOptions engine_;
  PhysicsOptions physics_;
  StoppingOptions stopping_;
  records::OutputOptions output_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> measure_command() { return std::make_unique<Measure>(); }

}  // namespace gpucast::mdapp

#include "app/measure.h"

#include <exception>

#include "engine/engine.h"
#include "gpucast/records/record_file.h"
#include "gpucast/records/records.h"
#include "gpucast/support/human.h"
#include "gpucast/support/median.h"
#include "gpucast/support/number_list.h"
#include "physics/observables.h"

namespace gpucast::mdapp {

namespace {

// Phases are timed in one step of eight.
constexpr std::size_t timed_a_phase = 7;
// Number of steps between checks of the stopping rule and of Ctrl-C.
constexpr int most_in_a_row = 64;
constexpr double longest_row = 0.1;  // s

double total_energy(Stepper& stepper) {
  const double potential = stepper.potential().energy;
  return potential + kinetic_energy(stepper.system());
}

Traffic bytes_so_far(const Stepper& stepper, Processes& processes) {
  Traffic sum;
  for (const Traffic& device : stepper.traffic())
    sum = sum + device;
  return {.h2d = processes.add_up(sum.h2d),
          .d2h = processes.add_up(sum.d2h),
          .exchange = processes.add_up(sum.exchange)};
}

// The difference of two moments that nearly coincide may be slightly negative.
Phases not_negative(Phases phases) {
  for (double* seconds : {&phases.h2d, &phases.kernel, &phases.d2h, &phases.cpu, &phases.exchange})
    *seconds = std::max(0.0, *seconds);
  return phases;
}

// Either stopping rule; both receive the same samples.
class Rule {
 public:
  explicit Rule(const Enough& enough)
      : steps_(enough.steps),
        seconds_left_(enough.max_seconds),
        interval_({.relative_half_width = enough.relative_half_width,
                   .min_seconds = enough.min_seconds,
                   .max_seconds = enough.max_seconds}) {}

  void add(double seconds) {
    ++count_;
    last_ = seconds;
    if (steps_) return;
    seconds_left_ -= seconds;
    interval_.add(seconds);
  }

  // Returns the number of steps before the next check; 0: enough.
  int next() const {
    if (steps_ ? count_ >= *steps_ : interval_.done()) return 0;
    const double row_seconds = steps_ ? longest_row : std::min(longest_row, seconds_left_);
    const double fit = last_ > 0 ? row_seconds / last_ : 1;
    const int row = static_cast<int>(std::clamp(fit, 1.0, 1.0 * most_in_a_row));
    const std::size_t left = steps_ ? *steps_ - count_ : most_in_a_row;
    return static_cast<int>(std::min(static_cast<std::size_t>(row), left));
  }

 private:
  std::optional<std::size_t> steps_;
  double seconds_left_;
  support::StopByInterval interval_;
  std::size_t count_ = 0;
  double last_ = 0;
};

// Makes at least two steps: the first ones load kernels and touch memory.
bool warm_up(Stepper& stepper, const support::WarmUp::Options& options, Processes& processes,
             const std::stop_token& interrupted) {
  support::WarmUp warm(options);
  int made = 0;
  while (true) {
    const bool go_on = !interrupted.stop_requested() && (made < 2 || !warm.done());
    if (processes.agree(go_on ? 1 : 0) == 0) break;
    warm.add(stepper.steps(1).front());
    ++made;
  }
  return processes.agree(interrupted.stop_requested() ? 1 : 0) == 0;
}

}  // namespace

Measured measure(Stepper& stepper, const MeasureOptions& options, Processes& processes,
                 const std::stop_token& interrupted) {
  Measured measured;
  const double energy_before = options.energy ? total_energy(stepper) : 0;
  if (!warm_up(stepper, options.warm_up, processes, interrupted)) {
    measured.interrupted = true;
    return measured;
  }
  const Traffic before = bytes_so_far(stepper, processes);
  Rule rule(options.enough);
  const auto catch_up_with_phases = [&] {
    while (options.phases && measured.phases.size() * timed_a_phase <= measured.seconds.size())
      measured.phases.push_back(not_negative(stepper.step_in_phases()));
  };
  while (true) {
    const bool stop = interrupted.stop_requested();
    measured.interrupted = processes.agree(stop && rule.next() > 0 ? 1 : 0) != 0;
    const int count = static_cast<int>(processes.agree(rule.next()));
    if (measured.interrupted || count == 0) break;
    catch_up_with_phases();
    for (const double seconds : stepper.steps(count)) {
      measured.seconds.push_back(seconds);
      rule.add(seconds);
    }
  }
  // The number of steps with phases does not depend on the length of the last row, and so not on
  // speed.
  if (!measured.interrupted) catch_up_with_phases();
  const Traffic moved = bytes_so_far(stepper, processes) - before;
  const auto steps = static_cast<double>(measured.seconds.size() + measured.phases.size());
  if (steps > 0) {
    const auto a_step = [steps](std::int64_t bytes) {
      return std::llround(static_cast<double>(bytes) / steps);
    };
    measured.bytes_a_step = {
        .h2d = a_step(moved.h2d), .d2h = a_step(moved.d2h), .exchange = a_step(moved.exchange)};
  }
  // A single particle has no energy that could drift.
  if (options.energy && steps > 0 && energy_before != 0)
    measured.energy_drift = (total_energy(stepper) - energy_before) / std::abs(energy_before);
  return measured;
}

namespace {

Record record_of(const Cell& cell, const Common& common, const Measured& measured) {
  const ScheduleOptions& options = cell.schedule;
  const KernelChoice& kernel = options.kernel;
  records::Measurement timed{
      .machine = common.machine, .path = common.path, .seconds = measured.seconds};
  if (measured.interrupted) timed.caveat = "interrupted";
  return to_json(
      records::Step{.schedule = options.name,
                    .kernel = support::name(kernel.name),
                    .n = cell.n,
                    .gpus = options.gpus,
                    .block = kernel.block > 0 ? kernel.block : common.default_block(kernel.name),
                    .memory = options.memory,
                    .graph = options.graph,
                    .boundary = common.boundary,
                    .bytes = measured.bytes_a_step,
                    .phases = measured.phases,
                    .energy_drift = measured.energy_drift},
      timed);
}

records::Note note_of(const Cell& cell, const Common& common, const std::string& why) {
  const ScheduleOptions& options = cell.schedule;
  return {.text = describe(cell) + ": " + why,
          .machine = common.machine,
          .path = common.path,
          .about = Record{{"schedule", name(options.name)},
                          {"kernel", support::name(options.kernel.name)},
                          {"memory", name(options.memory)},
                          {"n", cell.n},
                          {"gpus", options.gpus},
                          {"graph", options.graph}}};
}

// "52.1 us +- 0.4 %"
std::string summary(const std::vector<double>& seconds) {
  const auto interval = support::median_interval(seconds);
  const double median = interval ? interval->median : support::median(seconds);
  std::string text = support::human_seconds(median);
  if (interval) text += support::figure(" ± %.1f %%", 100 * interval->relative_half_width());
  return text + ", " + std::to_string(seconds.size()) + (seconds.size() == 1 ? " step" : " steps");
}

// Runs one grid; a cell's results are freed once they are written.
class Runner {
 public:
  Runner(const GridRun& run, Context& context, support::Progress& progress)
      : run_(run), context_(context), progress_(progress) {}

  Outcome all() {
    while (const auto cell = run_.cells.next()) {
      const bool stop = context_.interrupted.stop_requested();
      if (context_.processes.agree(stop ? 1 : 0) != 0) {
        outcome_.interrupted = true;
        break;
      }
      one(*cell);
      if (outcome_.interrupted || outcome_.device_lost) break;
    }
    return outcome_;
  }

 private:
  // Writing is outside of the try block: a full disk is no failure of the cell.
  void one(const Cell& cell) {
    progress_.under_way(describe(cell) + time_left());
    Measured measured;
    std::string failure;
    try {
      const auto stepper = run_.open(cell);
      measured = measure(*stepper, options_of(cell), context_.processes, context_.interrupted);
    } catch (const DeviceError& error) {
      outcome_.device_lost = true;
      failure = error.what();
    } catch (const std::bad_alloc&) {
      failure = "out of memory";
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!failure.empty()) {
      failed(cell, failure);
      return;
    }
    most_gpus_ = std::max(most_gpus_, cell.schedule.gpus);
    outcome_.interrupted = measured.interrupted;
    if (measured.seconds.empty()) return;
    run_.write(record_of(cell, run_.common, measured));
    ++outcome_.measured;
    progress_.finished(describe(cell) + ": " + summary(measured.seconds) + time_left());
  }

  void failed(const Cell& cell, const std::string& why) {
    ++outcome_.failed;
    run_.write(to_json(note_of(cell, run_.common, why)));
    if (context_.processes.size() > 1) throw std::runtime_error(describe(cell) + ": " + why);
    progress_.message(std::string(program) + ": error: " + describe(cell) + ": " + why);
  }

  // Idle GPUs have low clocks: warming them up takes until their clocks have settled, elsewhere a
  // fixed time.
  MeasureOptions options_of(const Cell& cell) const {
    MeasureOptions options = run_.options;
    if (cell.schedule.gpus <= most_gpus_)
      options.warm_up.most_seconds = options.warm_up.least_seconds;
    // A graph is replayed as a whole: phases that are queued one by one would belong to another
    // kind of step.
    options.phases = !cell.schedule.graph;
    return options;
  }

  // An estimate from the previous cells.
  std::string time_left() const {
    const std::size_t done = outcome_.measured + outcome_.failed;
    const std::size_t total = run_.cells.total;
    if (done == 0 || done >= total) return "";
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    const double seconds =
        passed.count() / static_cast<double>(done) * static_cast<double>(total - done);
    return ", about " + support::human_duration(seconds) + " left";
  }

  const GridRun& run_;
  Context& context_;
  support::Progress& progress_;
  Outcome outcome_;
  int most_gpus_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Outcome measure_grid(const GridRun& run, Context& context, support::Progress& progress) {
  return Runner(run, context, progress).all();
}

// gpucast-mdapp measure: times steps over a grid, and writes records of them.

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

#include "app/measure_grid.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>

#include "app/words.h"
#include "gpucast/records/records.h"
#include "gpucast/support/human.h"
#include "gpucast/support/median.h"

namespace gpucast::mdapp {
namespace {

records::Step record_of(const Cell& cell, const Common& common, const Measured& measured) {
  const ScheduleOptions& options = cell.schedule;
  records::Step step;
  step.machine = common.machine;
  step.path = common.path;
  step.schedule = options.name;
  step.kernel = support::name(options.kernel.name);
  step.n = cell.n;
  step.gpus = options.gpus;
  step.block =
      options.kernel.block > 0 ? options.kernel.block : common.default_block(options.kernel.name);
  step.memory = options.memory;
  step.graph = options.graph;
  step.boundary = common.boundary;
  step.bytes = measured.bytes_a_step;
  step.seconds = measured.seconds;
  step.phases = measured.phases;
  step.energy_drift = measured.energy_drift;
  if (measured.interrupted) step.caveat = "interrupted";
  return step;
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

// Runs one grid; the cells' results stay here no longer than it takes to write them.
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
  // Writing stands outside the try: a full disk is no failure of the cell.
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
    run_.write(to_json(record_of(cell, run_.common, measured)));
    ++outcome_.measured;
    progress_.finished(describe(cell) + ": " + summary(measured.seconds) + time_left());
  }

  void failed(const Cell& cell, const std::string& why) {
    ++outcome_.failed;
    run_.write(to_json(note_of(cell, run_.common, why)));
    if (context_.processes.size() > 1) throw std::runtime_error(describe(cell) + ": " + why);
    progress_.message(std::string(program) + ": error: " + describe(cell) + ": " + why);
  }

  // GPUs that have not worked yet have their clocks down: there warming up takes as long as they
  // need to settle, elsewhere a fixed time.
  MeasureOptions options_of(const Cell& cell) const {
    MeasureOptions options = run_.options;
    if (cell.schedule.gpus <= most_gpus_)
      options.warm_up.most_seconds = options.warm_up.least_seconds;
    // A graph is replayed as a whole: phases queued one by one would be another step's.
    options.phases = !cell.schedule.graph;
    return options;
  }

  // Estimated from what the cells so far took.
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

}  // namespace gpucast::mdapp

// gpucast-microbench measure: transfers, launches, overlap, contention, as records and tables.

#include "app/command.h"
#include "app/run.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/records/record_file.h"
#include "gpucast/support/number_list.h"

namespace gpucast::microbench {

std::vector<int> devices_of(const std::string& list, const Engine& engine) {
  const int count = engine.count();
  std::vector<int> devices;
  if (list.empty()) {
    devices.resize(static_cast<std::size_t>(count));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
  }
  for (const auto number :
       support::parse_number_list("--devices", list, {.least = 0, .most = 65535})) {
    if (number >= count) {
      throw support::InputError("--devices: " + std::to_string(number) + " wanted, " +
                                std::to_string(count) + " present, from 0 on");
    }
    devices.push_back(static_cast<int>(number));
  }
  return devices;
}

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

class Measure : public Command {
 public:
  void declare(CLI::App* command) override {
    command->add_option("--what", what_, "list of " + support::choices<Question>());
    engine_.declare(command);
    command->add_option("--devices", devices_, "list of devices: 0,2 or 0-3 (default: all)");
    command->add_option("--memory", memories_,
                        "host memory, list of pageable, pinned, portable, write-combined, mapped, "
                        "mapped-write-combined (default: all; CPU devices have pageable only)");
    command->add_option("--largest", largest_,
                        "bytes of the largest transfer (default: 1 GiB on GPUs, 64 MiB on CPUs)");
    command->add_option("--loop-bytes", loop_bytes_,
                        "bytes of each array in the loops over host memory");
    command
        ->add_option("--budget", budget_,
                     "total seconds; measurements that do not fit are skipped (0: no limit)")
        ->transform(support::in_seconds());
    command->add_option(
        "--fresh", fresh_,
        "number of new runs of this program that measure a few cells each, to determine the "
        "variation from run to run (0: none)");
    command->add_flag("--probes", probes_, "measure only those few cells");
    command->add_option(
        "--interval", options_.relative_half_width,
        "samples until the 95 % interval of their median is this narrow (half its width "
        "over the median)");
    output_.declare(command);
    command->add_flag("--quiet", quiet_, "no progress on stderr");
  }

  int run(Context& context) override {
    support::require_not_negative("--budget", budget_);
    support::require_positive("--interval", options_.relative_half_width);
    constexpr int most_fresh = 100;
    support::require(fresh_ == 0 || (fresh_ >= 2 && fresh_ <= most_fresh),
                     "--fresh: must be 0, or 2 to 100");
    const auto questions = support::parse_words<Question>("--what", what_);
    const auto if_exists = output_.if_exists();
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    const Suite suite = suite_of(*engine);
    const std::string label = output_.label_or(name(engine->path()));
    const auto machine = machine_record(*engine, context, output_.machine());
    records::RecordFile file(output_.path(), if_exists);
    file.write(to_json(machine));
    Run run{.cells = probes_ ? probes_of(suite) : cells_of(questions, suite),
            .machine = machine.id,
            .path = label,
            .samples = options_,
            .budget = budget_,
            .run_to_run = {},
            .write = [&file](const Json& record) { file.write(record); }};
    Outcome outcome;
    {
      support::Progress progress(context.err, support::Progress::for_stderr(quiet_),
                                 run.cells.size());
      if (!probes_ && fresh_ > 0) {
        progress.under_way("what differs from run to run: " + std::to_string(fresh_) +
                           " fresh runs");
        try {
          run.run_to_run = fresh_runs(fresh_, engine_.arguments(), context.interrupted);
        } catch (const DeviceError& error) {
          const std::string text = "what differs from run to run is not known: ";
          progress.message(text + error.what());
          file.write(to_json(
              records::Note{.text = text + error.what(), .machine = machine.id, .path = label}));
        }
      }
      constexpr double until_clocks_rise = 0.5;
      constexpr double enough_for_probes = 0.2;
      engine->warm_up(probes_ ? enough_for_probes : until_clocks_rise);
      outcome = measure(*engine, run, progress, context.interrupted);
    }
    file.close();
    print_report(outcome, output_.path() == "-" ? context.err : context.out);
    if (outcome.skipped > 0) {
      context.err << program << ": note: " << outcome.skipped << " of " << run.cells.size()
                  << " measurements were skipped; the records say why\n";
    }
    if (outcome.failed > 0) {
      context.err << program << ": error: " << outcome.failed << " of " << run.cells.size()
                  << " measurements failed; the records say why\n";
    } else if (outcome.interrupted) {
      context.err << program << ": error: interrupted: " << outcome.results.size() << " of "
                  << run.cells.size() << " measurements made\n";
    }
    return outcome.failed > 0 || outcome.interrupted ? 1 : 0;
  }

 private:
  Suite suite_of(const Engine& engine) const {
    using records::Memory;
    const bool gpus = engine.path() != schema::Path::host;
    Suite suite{.devices = devices_of(devices_, engine), .memories = {}, .gpus = gpus};
    suite.memories =
        !memories_.empty() ? support::parse_words<Memory>("--memory", memories_)
        : gpus ? std::vector{Memory::pinned, Memory::pageable, Memory::write_combined,
                             Memory::mapped, Memory::portable, Memory::mapped_write_combined}
               : std::vector{Memory::pageable};
    for (const Memory memory : suite.memories) {
      if (memory == Memory::unknown || (!gpus && memory != Memory::pageable)) {
        throw support::InputError("--memory: \"" + support::name(memory) + "\" is not there on " +
                                  (gpus ? "GPUs" : "CPU devices"));
      }
    }
    constexpr std::int64_t most = std::int64_t{1} << 34;
    suite.largest = largest_.empty()
                        ? (gpus ? 1024 : 64) * mebibyte
                        : support::parse_number("--largest", largest_, {.least = 64, .most = most});
    suite.together = std::min(suite.largest, (gpus ? 64 : 4) * mebibyte);
    suite.together_between = std::min(suite.largest, (gpus ? 256 : 4) * mebibyte);
    suite.skeleton = std::min(suite.largest, (gpus ? 4 * mebibyte : mebibyte / 4));
    suite.loop = support::parse_number("--loop-bytes", loop_bytes_, {.least = 4, .most = most});
    return suite;
  }

  std::string what_ = "transfers,concurrent,launches,overlap,skeleton,host-memory";
  devices::EngineOptions engine_;
  std::string devices_;
  std::string memories_;
  std::string largest_;
  std::string loop_bytes_ = "8388608";
  double budget_ = 60;
  int fresh_ = 6;
  bool probes_ = false;
  SampleOptions options_;
  records::OutputOptions output_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> measure_command() { return std::make_unique<Measure>(); }

}  // namespace gpucast::microbench

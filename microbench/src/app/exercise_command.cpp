// gpucast-microbench exercise: copies without end and prints a line per second, so that two runs
// can show whether they disturb each other.

#include "app/command.h"
#include "gpucast/devices/clock.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/human.h"
#include "gpucast/support/number_list.h"

namespace gpucast::microbench {
namespace {

using devices::Clock;
using devices::seconds_since;

class Exercise : public Command {
 public:
  void declare(CLI::App* command) override {
    command->add_option("devices", devices_, "one, or two")
        ->required()
        ->expected(1, 2)
        ->default_str("");
    engine_.declare(command);
    command->add_option("--bytes", bytes_, "bytes of a copy");
    command->add_option("--seconds", seconds_, "seconds until it stops (0: until Ctrl-C)")
        ->transform(support::in_seconds());
  }

  int run(Context& context) override {
    support::require_not_negative("--seconds", seconds_);
    constexpr std::int64_t most = std::int64_t{1} << 34;
    const auto bytes = support::parse_number("--bytes", bytes_, {.least = 1, .most = most});
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    const bool gpus = engine->path() != schema::Path::host;
    std::vector<int> ends;
    ends.reserve(devices_.size());
    for (const std::string& word : devices_)
      ends.push_back(devices_of(word, *engine).front());
    const int far = ends.size() == 2 ? ends[1] : host;
    if (far == ends[0]) throw support::InputError("devices: the same one twice");
    const auto memory = gpus ? records::Memory::pinned : records::Memory::pageable;
    const Copy out{.from = ends[0], .to = far, .bytes = bytes, .memory = memory};
    const Copy back{.from = far, .to = ends[0], .bytes = bytes, .memory = memory};
    for (const Copy& copy : {out, back})
      if (const auto why = engine->refuses(copy, records::TransferMethod::gated))
        throw support::InputError(describe(copy) + ": " + *why);
    // Each direction in turn is timed while the other one is in progress.
    const auto first = engine->open(std::vector{out, back});
    const auto second = engine->open(std::vector{back, out});
    const auto begin = Clock::now();
    while (!context.interrupted.stop_requested() &&
           (seconds_ <= 0 || seconds_since(begin) < seconds_)) {
      const double there = for_half_a_second(*first, context);
      const double return_trip = for_half_a_second(*second, context);
      constexpr double giga = 1e9;
      const auto size = static_cast<double>(bytes);
      context.out << place(out.from) << ">" << place(out.to)
                  << support::figure(" %8.3f GB/s  ", size / there / giga) << place(back.from)
                  << ">" << place(back.to)
                  << support::figure(" %8.3f GB/s", size / return_trip / giga) << "\n"
                  << std::flush;
    }
    if (!first->correct() || !second->correct())
      throw DeviceError("the data that arrived differs from the data that was sent");
    return 0;
  }

 private:
  // Returns the mean seconds of a copy.
  static double for_half_a_second(CopySet& copies, const Context& context) {
    constexpr double half = 0.5;
    constexpr int in_a_row = 8;
    const auto begin = Clock::now();
    double seconds = 0;
    int count = 0;
    do {
      seconds += copies.gated(in_a_row);
      count += in_a_row;
    } while (seconds_since(begin) < half && !context.interrupted.stop_requested());
    return seconds / count;
  }

  std::vector<std::string> devices_;
  devices::EngineOptions engine_;
  std::string bytes_ = "67108864";
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<Command> exercise_command() { return std::make_unique<Exercise>(); }

}  // namespace gpucast::microbench

#include "app/throughput.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "gpucast/support/median.h"
#include "gpucast/support/stopping.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {
namespace {

class Devices {
 public:
  Devices(Engine& engine, const System& system, const KernelRun& run)
      : output_(run.output),
        positions_(engine.array<Position>(static_cast<std::size_t>(system.n()), Memory::pinned)) {
    const ScheduleOptions options{
        .name = Schedule::star_async, .gpus = run.gpus, .kernel = run.kernel};
    for (int g = 0; g < run.gpus; ++g) {
      devices_.push_back(
          engine.open(g, workload(system, options, slice_of(system.n(), run.gpus, g))));
    }
    pack(system, {0, system.n()}, positions_.span());
    for (const auto& device : devices_)
      device->upload(positions_.span());
    wait();
  }

  // Seconds of one evaluation, of the slowest device by its own clock.
  double compute() {
    for (const auto& device : devices_) {
      device->mark(0);
      device->compute(output_);
      device->mark(1);
    }
    wait();
    double seconds = 0;
    for (const auto& device : devices_)
      seconds = std::max(seconds, device->seconds_between(0, 1));
    return seconds;
  }

 private:
  void wait() {
    for (const auto& device : devices_)
      device->wait();
  }

  Output output_;
  HostArray<Position> positions_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace

double kernel_seconds(Engine& engine, const System& system, const KernelRun& run,
                      const ThroughputOptions& options, const std::stop_token& interrupted) {
  Devices devices(engine, system, run);
  support::WarmUp warm_up({.least_seconds = options.warm_up, .most_seconds = 5 * options.warm_up});
  do {
    warm_up.add(devices.compute());
  } while (!warm_up.done() && !interrupted.stop_requested());
  std::vector<double> samples;
  double sum = 0;
  while (
      !interrupted.stop_requested() &&
      (sum < options.seconds || samples.size() < static_cast<std::size_t>(options.repetitions))) {
    samples.push_back(devices.compute());
    sum += samples.back();
  }
  return samples.empty() ? 0 : support::median(samples);
}

}  // namespace gpucast::mdapp

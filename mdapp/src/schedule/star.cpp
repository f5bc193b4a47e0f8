#include "schedule/schedule.h"

#include <algorithm>
#include <utility>

namespace gpucast::mdapp {

Star::Star(Engine& engine, const System& system, const ScheduleOptions& options, Devices devices)
    : serial_(options.name == Schedule::star_serial), devices_(std::move(devices)) {
  const Memory memory = serial_ ? options.memory : Memory::pinned;
  const auto n = static_cast<std::size_t>(system.n());
  positions_ = engine.array<Position>(n, memory);
  forces_ = engine.array<Force>(n, memory);
  sums_ = engine.array<PairSums>(n, memory);
  if (options.graph && !devices_.all().empty()) {
    recorded_step_ = engine.record(devices_.all(), [this] { queue_step(); });
  }
}

// `marked`: marks 2 phase and 2 phase + 1 stand around each phase.
void Star::queue_step(bool marked) {
  const auto queue = [&](Phase phase, Device& device, Slice slice) {
    if (marked) device.mark(2 * phase);
    if (phase == h2d) device.upload(positions());
    if (phase == kernel) device.compute(Output::forces);
    if (phase == d2h) device.download(part(forces(), slice));
    if (marked) device.mark(2 * phase + 1);
  };
  if (serial_) {
    for (const Phase phase : {h2d, kernel, d2h})
      devices_.each([&](Device& device, Slice slice) { queue(phase, device, slice); });
    return;
  }
  devices_.each([&](Device& device, Slice slice) {
    for (const Phase phase : {h2d, kernel, d2h})
      queue(phase, device, slice);
  });
}

void Star::compute() {
  recorded_step_ ? recorded_step_() : queue_step();
  if (!serial_) devices_.wait();
}

Phases Star::compute_in_phases() {
  queue_step(true);
  devices_.wait();
  Phases phases;
  for (Device* device : devices_.all()) {
    const auto seconds = [&](Phase phase) {
      return device->seconds_between(2 * phase, 2 * phase + 1);
    };
    // One after another the copies add up; side by side the slowest counts.
    const auto add = [&](double& total, Phase phase) {
      total = serial_ ? total + seconds(phase) : std::max(total, seconds(phase));
    };
    add(phases.h2d, h2d);
    add(phases.d2h, d2h);
    phases.kernel = std::max(phases.kernel, seconds(kernel));
  }
  return phases;
}

std::span<const PairSums> Star::compute_sums() {
  devices_.each([this](Device& device, Slice slice) {
    device.upload(positions());
    device.compute(Output::forces_and_sums);
    device.download(part(sums_.span(), slice));
  });
  devices_.wait();
  return sums_.span();
}

}  // namespace gpucast::mdapp

// The host in the middle: it sends all positions to every GPU and gets a slice of the forces back
// from each.
#include <algorithm>

#include "schedule/schedule.h"
#include "schedule/timed.h"

namespace gpucast::mdapp {
namespace {

class Star : public ForceSchedule {
 public:
  Star(Engine& engine, const System& system, const ScheduleOptions& options)
      : n_(system.n()), serial_(options.name == Schedule::star_serial) {
    const Memory memory = serial_ ? options.memory : Memory::pinned;
    const auto n = static_cast<std::size_t>(n_);
    positions_ = engine.array<Position>(n, memory);
    forces_ = engine.array<Force>(n, memory);
    sums_ = engine.array<PairSums>(n, memory);
    for (int g = 0; g < options.gpus; ++g) {
      slices_.push_back(slice_of(n_, options.gpus, g));
      devices_.push_back(engine.open(g, workload(system, options, slices_.back())));
    }
    if (options.graph) {
      std::vector<Device*> all;
      all.reserve(devices_.size());
      for (const auto& device : devices_)
        all.push_back(device.get());
      recording_ = engine.record(all, [this] { queue_all(); });
    }
  }

  Slice integrates() const override { return {0, n_}; }
  std::span<Position> positions() override { return positions_.span(); }
  std::span<Force> forces() override { return forces_.span(); }

  void compute() override {
    if (serial_) {
      for (const auto& device : devices_)
        device->upload(positions());
      for (const auto& device : devices_)
        device->compute(Output::forces);
      each([this](Device& device, Slice slice) { device.download(part(forces(), slice)); });
      return;
    }
    if (recording_) {
      recording_->replay();
    } else {
      queue_all();
    }
    wait();
  }

  Phases compute_in_phases() override {
    if (serial_) {
      for (const auto& device : devices_)
        timed::upload(*device, positions());
      for (const auto& device : devices_)
        timed::compute(*device);
      each([this](Device& device, Slice slice) { timed::download(device, part(forces(), slice)); });
    } else {
      each([this](Device& device, Slice slice) {
        timed::upload(device, positions());
        timed::compute(device);
        timed::download(device, part(forces(), slice));
      });
    }
    wait();
    Phases phases;
    for (const auto& device : devices_) {
      add(phases.h2d, timed::h2d(*device));
      add(phases.d2h, timed::d2h(*device));
      phases.kernel = std::max(phases.kernel, timed::kernel(*device));
    }
    return phases;
  }

  std::span<const PairSums> compute_sums() override {
    each([this](Device& device, Slice slice) {
      device.upload(positions());
      device.compute(Output::forces_and_sums);
      device.download(part(sums_.span(), slice));
    });
    wait();
    return sums_.span();
  }

  std::vector<Traffic> traffic() const override {
    std::vector<Traffic> result;
    result.reserve(devices_.size());
    for (const auto& device : devices_)
      result.push_back(device->traffic());
    return result;
  }

 private:
  template <class Body>
  void each(Body body) {
    for (std::size_t g = 0; g < devices_.size(); ++g)
      body(*devices_[g], slices_[g]);
  }

  template <class T>
  static std::span<T> part(std::span<T> all, Slice slice) {
    return all.subspan(static_cast<std::size_t>(slice.first),
                       static_cast<std::size_t>(slice.count));
  }

  void queue_all() {
    each([this](Device& device, Slice slice) {
      device.upload(positions());
      device.compute(Output::forces);
      device.download(part(forces(), slice));
    });
  }

  void wait() {
    for (const auto& device : devices_)
      device->wait();
  }

  // One after another the copies add up; side by side the slowest counts.
  void add(double& total, double seconds) const {
    total = serial_ ? total + seconds : std::max(total, seconds);
  }

  int n_;
  bool serial_;
  HostArray<Position> positions_;
  HostArray<Force> forces_;
  HostArray<PairSums> sums_;
  std::vector<Slice> slices_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Recording> recording_;  // last: it refers to the devices, and goes first
};

}  // namespace

std::unique_ptr<ForceSchedule> star(Engine& engine, const System& system,
                                    const ScheduleOptions& options) {
  return std::make_unique<Star>(engine, system, options);
}

}  // namespace gpucast::mdapp

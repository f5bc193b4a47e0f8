// The host in the middle: it sends all positions to every GPU and gets a share of the forces back
// from each.
#include <algorithm>

#include "schedule/parts.h"
#include "schedule/schedule.h"

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
      shares_.push_back(share_of(n_, options.gpus, g));
      devices_.push_back(engine.open(g, workload(system, options, shares_.back())));
    }
    if (options.graph) {
      std::vector<Device*> all;
      all.reserve(devices_.size());
      for (const auto& device : devices_)
        all.push_back(device.get());
      recording_ = engine.record(all, [this] { queue_all(); });
    }
  }

  Share integrates() const override { return {0, n_}; }
  std::span<Position> positions() override { return positions_.span(); }
  std::span<Force> forces() override { return forces_.span(); }

  void compute() override {
    if (serial_) {
      for (const auto& device : devices_)
        device->upload(positions());
      for (const auto& device : devices_)
        device->compute(Output::forces);
      each([this](Device& device, Share share) { device.download(part(forces(), share)); });
      return;
    }
    if (recording_) {
      recording_->replay();
    } else {
      queue_all();
    }
    wait();
  }

  Phases compute_in_parts() override {
    if (serial_) {
      for (const auto& device : devices_)
        parts::upload(*device, positions());
      for (const auto& device : devices_)
        parts::compute(*device);
      each([this](Device& device, Share share) { parts::download(device, part(forces(), share)); });
    } else {
      each([this](Device& device, Share share) {
        parts::upload(device, positions());
        parts::compute(device);
        parts::download(device, part(forces(), share));
      });
    }
    wait();
    Phases phases;
    for (const auto& device : devices_) {
      add(phases.h2d, parts::h2d(*device));
      add(phases.d2h, parts::d2h(*device));
      phases.kernel = std::max(phases.kernel, parts::kernel(*device));
    }
    return phases;
  }

  std::span<const PairSums> compute_sums() override {
    each([this](Device& device, Share share) {
      device.upload(positions());
      device.compute(Output::forces_and_sums);
      device.download(part(sums_.span(), share));
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
      body(*devices_[g], shares_[g]);
  }

  template <class T>
  static std::span<T> part(std::span<T> all, Share share) {
    return all.subspan(static_cast<std::size_t>(share.first),
                       static_cast<std::size_t>(share.count));
  }

  void queue_all() {
    each([this](Device& device, Share share) {
      device.upload(positions());
      device.compute(Output::forces);
      device.download(part(forces(), share));
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
  std::vector<Share> shares_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Recording> recording_;  // last: it refers to the devices, and goes first
};

}  // namespace

std::unique_ptr<ForceSchedule> star(Engine& engine, const System& system,
                                    const ScheduleOptions& options) {
  return std::make_unique<Star>(engine, system, options);
}

}  // namespace gpucast::mdapp

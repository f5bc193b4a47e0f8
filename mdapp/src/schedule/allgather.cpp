// Steps in which the GPUs integrate: positions and velocities stay there in double precision, and
// each GPU's rounded positions are sent to all the others.
#include <algorithm>
#include <utility>

#include "schedule/schedule.h"

namespace gpucast::mdapp {
namespace {

// Number of steps queued before the host waits: enough to hide the time of queueing, few enough to
// stop soon.
constexpr int queued_steps = 32;

class AllGather : public Stepper {
 public:
  AllGather(Engine& engine, System system, const IntegratorOptions& integrator,
            const ScheduleOptions& options)
      : system_(std::move(system)),
        kind_(integrator.kind),
        motion_(motion_of(integrator, system_)),
        positions_(engine.array<Position>(static_cast<std::size_t>(system_.n()), Memory::pinned)),
        sums_(engine.array<PairSums>(static_cast<std::size_t>(system_.n()), Memory::pinned)),
        devices_(engine, system_, options),
        exchange_(engine.connect(devices_.all())) {
    devices_.each([this](Device& device, Slice slice) {
      device.upload_state(part(std::span(system_.r), slice, 3),
                          part(std::span(system_.v), slice, 3));
    });
    upload_positions();
    devices_.compute(Output::forces);
    finish();
    if (options.graph) recorded_step_ = engine.record(devices_.all(), [this] { queue_step(); });
  }

  std::vector<double> steps(int count) override {
    std::vector<double> result;
    // The GPUs advance together, so that the first one's clock stands for all.
    Device& clock = *devices_.all().front();
    for (int done = 0; done < count;) {
      const int batch = std::min(queued_steps, count - done);
      clock.mark(0);
      for (int k = 1; k <= batch; ++k) {
        recorded_step_ ? recorded_step_() : queue_step();
        clock.mark(k);
      }
      finish();
      for (int k = 0; k < batch; ++k)
        result.push_back(clock.seconds_between(k, k + 1));
      done += batch;
    }
    return result;
  }

  Phases step_in_phases() override {
    queue_step(true);
    finish();
    Phases phases;
    for (Device* device : devices_.all()) {
      const auto between = [device](int slot) { return device->seconds_between(slot, slot + 1); };
      phases.kernel = std::max(phases.kernel, between(0) + between(2) + between(4));
      phases.exchange = std::max(phases.exchange, between(1) + between(3));
    }
    return phases;
  }

  const System& system() override {
    devices_.each([this](Device& device, Slice slice) {
      device.download_state(part(std::span(system_.r), slice, 3),
                            part(std::span(system_.v), slice, 3));
    });
    return system_;
  }

  Potential potential() override {
    system();
    upload_positions();
    devices_.each([this](Device& device, Slice slice) {
      device.compute(Output::forces_and_sums);
      device.download(part(sums_.span(), slice));
    });
    // The next step starts from forces, which must be the same as without this call.
    devices_.compute(Output::forces);
    finish();
    return sum_of(system_, sums_.span());
  }

  std::vector<Traffic> traffic() const override { return devices_.traffic(); }

 private:
  void upload_positions() {
    pack(system_, {0, system_.n()}, positions_.span());
    devices_.upload(positions_.span());
  }

  // `marked`: a mark precedes each phase, and one follows the last.
  void queue_step(bool marked = false) {
    const auto mark = [this, marked](int slot) {
      if (marked) devices_.mark(slot);
    };
    mark(0);
    for (Device* device : devices_.all())
      device->before_forces(motion_, kind_);
    mark(1);
    exchange_->positions();
    mark(2);
    devices_.compute(Output::forces);
    mark(3);
    add_up();
    mark(4);
    for (Device* device : devices_.all())
      device->after_forces(motion_, kind_);
    mark(5);
  }

  // Only a thermostat, and its mean force, need sums over all particles.
  void add_up() {
    if (kind_ != IntegratorKind::nose_hoover) return;
    for (Device* device : devices_.all())
      device->sum_up();
    exchange_->add_up();
  }

  void finish() {
    devices_.wait();
    if (std::ranges::any_of(devices_.all(), [](Device* d) { return d->overlapped(); }))
      throw Overlap(describe_overlap(system()));
  }

  System system_;
  IntegratorKind kind_;
  Motion motion_;
  HostArray<Position> positions_;
  HostArray<PairSums> sums_;
  Devices devices_;
  std::unique_ptr<Exchange> exchange_;
  std::function<void()> recorded_step_;  // declared after the members that it uses
};

}  // namespace

std::unique_ptr<Stepper> allgather_stepper(Engine& engine, System system,
                                           const IntegratorOptions& integrator,
                                           const ScheduleOptions& options) {
  return std::make_unique<AllGather>(engine, std::move(system), integrator, options);
}

}  // namespace gpucast::mdapp

#include "schedule/allgather.h"

#include <algorithm>
#include <utility>

#include "physics/overlap.h"

namespace gpucast::mdapp {
namespace {

// Steps queued before the host waits: enough to hide the cost of queueing, few enough to stop soon.
constexpr int queued_steps = 32;

class AllGather : public Stepper {
 public:
  AllGather(Engine& engine, System system, const IntegratorOptions& integrator,
            const ScheduleOptions& options)
      : system_(std::move(system)),
        kind_(integrator.kind),
        motion_(motion_of(integrator, system_)),
        positions_(engine.array<Position>(static_cast<std::size_t>(system_.n()), Memory::pinned)),
        sums_(engine.array<PairSums>(static_cast<std::size_t>(system_.n()), Memory::pinned)) {
    for (int g = 0; g < options.gpus; ++g) {
      slices_.push_back(slice_of(system_.n(), options.gpus, g));
      devices_.push_back(engine.open(g, workload(system_, options, slices_.back())));
      all_.push_back(devices_.back().get());
    }
    exchange_ = engine.connect(all_);
    each([this](Device& device, Slice slice) {
      device.upload_state(part(system_.r, slice), part(system_.v, slice));
    });
    upload_positions();
    for (Device* device : all_)
      device->compute(Output::forces);
    finish();
    if (options.graph) {
      recording_ = engine.record(all_, [this] { queue_step(); });
    }
  }

  std::vector<double> steps(int count) override {
    std::vector<double> result;
    result.reserve(static_cast<std::size_t>(count));
    // The GPUs go in step with one another, so the first one's clock is everybody's.
    Device& clock = *all_.front();
    for (int done = 0; done < count;) {
      const int batch = std::min(queued_steps, count - done);
      clock.mark(0);
      for (int k = 1; k <= batch; ++k) {
        if (recording_) {
          recording_->replay();
        } else {
          queue_step();
        }
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
    mark(0);
    for (Device* device : all_)
      device->before_forces(motion_, kind_);
    mark(1);
    exchange_->positions();
    mark(2);
    for (Device* device : all_)
      device->compute(Output::forces);
    mark(3);
    add_up();
    mark(4);
    for (Device* device : all_)
      device->after_forces(motion_, kind_);
    mark(5);
    finish();
    Phases phases;
    for (Device* device : all_) {
      const auto between = [device](int slot) { return device->seconds_between(slot, slot + 1); };
      phases.kernel = std::max(phases.kernel, between(0) + between(2) + between(4));
      phases.exchange = std::max(phases.exchange, between(1) + between(3));
    }
    return phases;
  }

  const System& system() override {
    each([this](Device& device, Slice slice) {
      device.download_state(part(system_.r, slice), part(system_.v, slice));
    });
    return system_;
  }

  Potential potential() override {
    system();
    upload_positions();
    each([this](Device& device, Slice slice) {
      device.compute(Output::forces_and_sums);
      device.download(sums_.span().subspan(static_cast<std::size_t>(slice.first),
                                           static_cast<std::size_t>(slice.count)));
    });
    // The next step starts from forces, which are to be those of a run without this look.
    for (Device* device : all_)
      device->compute(Output::forces);
    finish();
    return sum_of(system_, sums_.span());
  }

  std::vector<Traffic> traffic() const override {
    std::vector<Traffic> result;
    result.reserve(all_.size());
    for (const Device* device : all_)
      result.push_back(device->traffic());
    return result;
  }

 private:
  template <class Body>
  void each(Body body) {
    for (std::size_t g = 0; g < all_.size(); ++g)
      body(*all_[g], slices_[g]);
  }

  static std::span<double> part(std::vector<double>& all, Slice slice) {
    return std::span(all).subspan(3 * static_cast<std::size_t>(slice.first),
                                  3 * static_cast<std::size_t>(slice.count));
  }

  void upload_positions() {
    pack(system_, {0, system_.n()}, positions_.span());
    for (Device* device : all_)
      device->upload(positions_.span());
  }

  void queue_step() {
    for (Device* device : all_)
      device->before_forces(motion_, kind_);
    exchange_->positions();
    for (Device* device : all_)
      device->compute(Output::forces);
    add_up();
    for (Device* device : all_)
      device->after_forces(motion_, kind_);
  }

  // Only a thermostat, and the mean force that goes with it, need sums over all particles.
  void add_up() {
    if (kind_ != IntegratorKind::nose_hoover) return;
    for (Device* device : all_)
      device->sum_up();
    exchange_->add_up();
  }

  void mark(int slot) {
    for (Device* device : all_)
      device->mark(slot);
  }

  void finish() {
    for (Device* device : all_)
      device->wait();
    const bool overlapped = std::ranges::any_of(all_, [](Device* d) { return d->overlapped(); });
    if (overlapped) throw Overlap(describe_overlap(system()));
  }

  System system_;
  IntegratorKind kind_;
  Motion motion_;
  HostArray<Position> positions_;
  HostArray<PairSums> sums_;
  std::vector<Slice> slices_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> all_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Recording> recording_;  // after what it refers to
};

}  // namespace

std::unique_ptr<Stepper> allgather_stepper(Engine& engine, System system,
                                           const IntegratorOptions& integrator,
                                           const ScheduleOptions& options) {
  return std::make_unique<AllGather>(engine, std::move(system), integrator, options);
}

}  // namespace gpucast::mdapp

#include "schedule/schedule.h"

#include <algorithm>
#include <utility>

#include "gpucast/devices/clock.h"
#include "gpucast/support/errors.h"
#include "physics/pair.h"

namespace gpucast::mdapp {
namespace {

using devices::Clock;
using devices::seconds_since;

Workload workload(const System& system, const ScheduleOptions& options, Slice slice) {
  return {.n = system.n(),
          .cations = system.cations,
          .slice = slice,
          .devices = options.gpus,
          .field = force_field<float>(system.salt, system.boundary),
          .boundary = system.boundary.kind,
          .kernel = options.kernel,
          .copies = options.name == Schedule::star_serial ? Copies::blocking : Copies::queued};
}

std::vector<Place> one_a_slice(int n, int gpus) {
  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g)
    places.push_back({.device = g, .slice = slice_of(n, gpus, g)});
  return places;
}

// Steps in which the host integrates.
class HostStepper : public Stepper {
 public:
  HostStepper(System system, const IntegratorOptions& options, std::unique_ptr<Star> schedule)
      : system_(std::move(system)),
        schedule_(std::move(schedule)),
        integrator_(options, system_, schedule_->integrates()) {
    pack(system_, schedule_->integrates(), schedule_->positions());
    schedule_->compute();
    integrator_.start(schedule_->forces());
  }

  std::vector<double> steps(int count) override {
    std::vector<double> result(static_cast<std::size_t>(count));
    for (double& seconds : result) {
      const auto begin = Clock::now();
      integrator_.before_forces(schedule_->positions());
      schedule_->compute();
      integrator_.after_forces(schedule_->forces(), *schedule_);
      seconds = seconds_since(begin);
    }
    return result;
  }

  Phases step_in_phases() override {
    const auto begin = Clock::now();
    integrator_.before_forces(schedule_->positions());
    const double before = seconds_since(begin);
    Phases phases = schedule_->compute_in_phases();
    const auto computed = Clock::now();
    integrator_.after_forces(schedule_->forces(), *schedule_);
    phases.cpu = before + seconds_since(computed);
    return phases;
  }

  const System& system() override {
    schedule_->gather(system_);
    return system_;
  }

  Potential potential() override {
    const Slice own = schedule_->integrates();
    pack(system_, own, schedule_->positions());
    const auto sums = schedule_->compute_sums();
    double total[2] = {};
    for (const auto& [energy, virial] : part(sums, own)) {
      total[0] += energy;
      total[1] += virial;
    }
    schedule_->add_up(std::span<double>(total));
    return with_self_energy(system_, {.energy = total[0], .virial = total[1]});
  }

  std::vector<Traffic> traffic() const override { return schedule_->traffic(); }

 private:
  System system_;
  std::unique_ptr<Star> schedule_;
  Integrator integrator_;
};

}  // namespace

Devices::Devices(Engine& engine, const System& system, const ScheduleOptions& options)
    : Devices(engine, system, options, one_a_slice(system.n(), options.gpus)) {}

Devices::Devices(Engine& engine, const System& system, const ScheduleOptions& options,
                 std::span<const Place> places) {
  for (const auto& [device, slice] : places) {
    slices_.push_back(slice);
    devices_.push_back(engine.open(device, workload(system, options, slice)));
    all_.push_back(devices_.back().get());
  }
}

std::vector<Traffic> Devices::traffic() const {
  std::vector<Traffic> result;
  each([&](const Device& device, Slice) { result.push_back(device.traffic()); });
  return result;
}

Star::Star(Engine& engine, const System& system, const ScheduleOptions& options, Devices devices)
    : serial_(options.name == Schedule::star_serial), devices_(std::move(devices)) {
  const Memory memory = serial_ ? options.memory : Memory::pinned;
  const auto n = static_cast<std::size_t>(system.n());
  positions_ = engine.array<Position>(n, memory);
  forces_ = engine.array<Force>(n, memory);
  sums_ = engine.array<PairSums>(n, memory);
  if (options.graph && !devices_.all().empty())
    recorded_step_ = engine.record(devices_.all(), [this] { queue_step(); });
}

// `marked`: marks 2 phase and 2 phase + 1 enclose each phase.
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
    // Consecutive copies add up; for concurrent ones the slowest counts.
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

std::unique_ptr<Star> force_schedule(Engine& engine, const System& system,
                                     const ScheduleOptions& options) {
  return options.name == Schedule::mpi ? mpi_schedule(engine, system, options)
                                       : std::make_unique<Star>(engine, system, options);
}

std::unique_ptr<Stepper> make_stepper(Engine& engine, System system,
                                      const IntegratorOptions& integrator,
                                      const ScheduleOptions& options) {
  if (options.name == Schedule::allgather)
    return allgather_stepper(engine, std::move(system), integrator, options);
  if (options.name == Schedule::star_serial && options.graph)
    throw std::invalid_argument("star-serial copies block and cannot be recorded as a graph");
  auto schedule = force_schedule(engine, system, options);
  return std::make_unique<HostStepper>(std::move(system), integrator, std::move(schedule));
}

#ifndef GPUCAST_HAS_MPI
bool started_by_mpi_launcher() { return false; }

std::unique_ptr<Processes> join_processes() {
  throw support::InputError("this program was built without MPI; schedule mpi needs it");
}

std::unique_ptr<Star> mpi_schedule(Engine& /*engine*/, const System& /*system*/,
                                   const ScheduleOptions& /*options*/) {
  join_processes();
  return nullptr;
}
#endif

}  // namespace gpucast::mdapp

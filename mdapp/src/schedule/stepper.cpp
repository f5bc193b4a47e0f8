#include "schedule/schedule.h"

#include <stdexcept>
#include <utility>

#include "gpucast/devices/clock.h"

namespace gpucast::mdapp {
namespace {

using devices::Clock;
using devices::seconds_since;

// Steps in which the host integrates.
class HostStepper : public Stepper {
 public:
  HostStepper(System system, const IntegratorOptions& options,
              std::unique_ptr<ForceSchedule> schedule)
      : system_(std::move(system)),
        schedule_(std::move(schedule)),
        integrator_(options, system_, schedule_->integrates()) {
    pack(system_, schedule_->integrates(), schedule_->positions());
    schedule_->compute();
    integrator_.start(schedule_->forces());
  }

  std::vector<double> steps(int count) override {
    std::vector<double> result;
    result.reserve(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) {
      const auto begin = Clock::now();
      integrator_.before_forces(schedule_->positions());
      schedule_->compute();
      integrator_.after_forces(schedule_->forces(), *schedule_);
      result.push_back(seconds_since(begin));
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
    for (int k = own.first; k < own.first + own.count; ++k) {
      total[0] += sums[static_cast<std::size_t>(k)].energy;
      total[1] += sums[static_cast<std::size_t>(k)].virial;
    }
    schedule_->add_up(std::span<double>(total));
    return with_self_energy(system_, {.energy = total[0], .virial = total[1]});
  }

  std::vector<Traffic> traffic() const override { return schedule_->traffic(); }

 private:
  System system_;
  std::unique_ptr<ForceSchedule> schedule_;
  Integrator integrator_;
};

}  // namespace

std::unique_ptr<ForceSchedule> force_schedule(Engine& engine, const System& system,
                                              const ScheduleOptions& options) {
  return options.name == Schedule::mpi ? mpi_schedule(engine, system, options)
                                       : star(engine, system, options);
}

std::unique_ptr<Stepper> make_stepper(Engine& engine, System system,
                                      const IntegratorOptions& integrator,
                                      const ScheduleOptions& options) {
  if (options.name == Schedule::allgather) {
    return allgather_stepper(engine, std::move(system), integrator, options);
  }
  if (options.name == Schedule::star_serial && options.graph) {
    throw std::invalid_argument("star-serial copies block and cannot be recorded as a graph");
  }
  auto schedule = force_schedule(engine, system, options);
  return std::make_unique<HostStepper>(std::move(system), integrator, std::move(schedule));
}

}  // namespace gpucast::mdapp

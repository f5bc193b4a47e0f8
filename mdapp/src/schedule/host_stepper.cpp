#include "schedule/host_stepper.h"

#include <chrono>
#include <utility>

namespace gpucast::mdapp {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

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
      result.push_back(seconds(begin, Clock::now()));
    }
    return result;
  }

  Phases step_in_phases() override {
    const auto begin = Clock::now();
    integrator_.before_forces(schedule_->positions());
    const auto packed = Clock::now();
    Phases phases = schedule_->compute_in_phases();
    const auto computed = Clock::now();
    integrator_.after_forces(schedule_->forces(), *schedule_);
    phases.cpu = seconds(begin, packed) + seconds(computed, Clock::now());
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

std::unique_ptr<Stepper> host_stepper(System system, const IntegratorOptions& integrator,
                                      std::unique_ptr<ForceSchedule> schedule) {
  return std::make_unique<HostStepper>(std::move(system), integrator, std::move(schedule));
}

}  // namespace gpucast::mdapp

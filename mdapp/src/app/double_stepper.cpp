#include "app/double_stepper.h"

#include <utility>

#include "gpucast/devices/clock.h"
#include "physics/motion.h"
#include "physics/overlap.h"
#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

using devices::Clock;

class DoubleStepper : public Stepper {
 public:
  DoubleStepper(System system, const IntegratorOptions& options, int threads)
      : system_(std::move(system)),
        verlet_(options.kind == IntegratorKind::verlet),
        motion_(motion_of(options, system_)),
        threads_(threads) {
    compute();
  }

  std::vector<double> steps(int count) override {
    std::vector<double> result;
    for (int k = 0; k < count; ++k) {
      const auto begin = Clock::now();
      step();
      result.push_back(devices::seconds_since(begin));
    }
    return result;
  }

  Phases step_in_phases() override { return {.cpu = steps(1).front()}; }

  const System& system() override { return system_; }
  Potential potential() override { return reference_forces(system_, threads_).potential; }
  std::vector<Traffic> traffic() const override { return {}; }

 private:
  void step() {
    if (verlet_) {
      kick_all(motion_);
      drift_all();
      compute();
      kick_all(motion_);
      return;
    }
    compute();
    Motion motion = with_friction(motion_, friction_);
    for (std::size_t k = 0; k < forces_.size(); ++k)
      motion.mean_force[k % 3] += forces_[k] / system_.n();
    kick_all(motion);
    friction_ = next_friction(friction_, 2 * kinetic_energy(system_), motion_);
    drift_all();
  }

  void compute() {
    forces_ = reference_forces(system_, threads_).force;
    for (const double force : forces_) {
      if (!sound(static_cast<float>(force))) throw Overlap(describe_overlap(system_));
    }
  }

  void kick_all(const Motion& motion) {
    for (std::size_t k = 0; k < forces_.size(); ++k)
      kick(system_.v[k], forces_[k], motion, system_.type(static_cast<int>(k / 3)),
           static_cast<int>(k % 3));
  }

  void drift_all() {
    for (std::size_t k = 0; k < forces_.size(); ++k)
      drift(system_.r[k], system_.v[k], motion_);
  }

  System system_;
  bool verlet_;
  Motion motion_;
  int threads_;
  double friction_ = 0;
  std::vector<double> forces_;
};

}  // namespace

std::unique_ptr<Stepper> double_stepper(System system, const IntegratorOptions& integrator,
                                        int threads) {
  return std::make_unique<DoubleStepper>(std::move(system), integrator, threads);
}

}  // namespace gpucast::mdapp

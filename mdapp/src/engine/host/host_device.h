// A worker thread as a Device: its own memory, which it touches first, and a queue. In an exchange,
// each device copies what it needs from the others' memory.
#pragma once

#include <algorithm>

#include "engine/engine.h"
#include "gpucast/devices/clock.h"
#include "gpucast/devices/host/worker.h"
#include "kernels/host/host_kernels.h"
#include "physics/integrator.h"

namespace gpucast::mdapp::host {

using devices::Clock;
using devices::host::Worker;

class HostDevice : public Device {
 public:
  HostDevice(const std::string& name, const Workload& workload)
      : workload_(workload), worker_(name) {
    worker_.queue([this] {
      const auto slice = static_cast<std::size_t>(workload_.slice.count);
      positions_.resize(static_cast<std::size_t>(workload_.n));
      forces_.resize(slice);
      pair_sums_.resize(slice);
    });
    worker_.wait();
  }

  void upload(std::span<const Position> positions) override {
    worker_.queue([this, positions] { std::ranges::copy(positions, positions_.begin()); });
    traffic_.h2d += static_cast<std::int64_t>(positions.size_bytes());
    finish_copy();
  }
  void compute(Output output) override {
    worker_.queue([this, output] {
      const ForceArguments arguments{
          .positions = positions_.data(),
          .forces = forces_.data(),
          .sums = output == Output::forces_and_sums ? pair_sums_.data() : nullptr,
          .n = workload_.n,
          .cations = workload_.cations,
          .slice = workload_.slice,
          .field = workload_.field,
          .boundary = workload_.boundary};
      const bool plain = workload_.kernel.name == KernelName::claret;
      plain ? claret(arguments) : tuned(arguments);
    });
  }
  void download(std::span<Force> forces) override { download(forces, forces_); }
  void download(std::span<PairSums> sums) override { download(sums, pair_sums_); }

  void upload_state(std::span<const double> r, std::span<const double> v) override {
    worker_.queue([this, r, v] {
      r_.assign(r.begin(), r.end());
      v_.assign(v.begin(), v.end());
      step_sums_ = {};
      friction_ = 0;
      first_step_ = true;
      overlapped_ = false;
    });
    wait();
  }
  void download_state(std::span<double> r, std::span<double> v) override {
    wait();
    std::ranges::copy(r_, r.begin());
    std::ranges::copy(v_, v.begin());
  }
  void before_forces(const Motion& motion, IntegratorKind kind) override {
    worker_.queue([this, motion, kind] {
      if (kind == IntegratorKind::verlet && may_move()) kick_and_drift_all(particles(), motion);
      pack_all(particles(), motion.inverse_lambda);
    });
  }
  void sum_up() override {
    worker_.queue([this] { add_forces(particles(), step_sums_.force); });
  }
  void after_forces(const Motion& motion, IntegratorKind kind) override {
    worker_.queue([this, motion, kind] {
      if (kind == IntegratorKind::nose_hoover)
        nose_hoover_after_forces(motion);
      else if (may_move())
        kick_all(particles(), motion);
    });
  }
  bool overlapped() override {
    wait();
    return overlapped_;
  }

  void mark(int slot) override {
    worker_.queue([this, slot] {
      const auto index = static_cast<std::size_t>(slot);
      if (marks_.size() <= index) marks_.resize(index + 1);
      marks_[index] = Clock::now();
    });
  }
  void wait() override { worker_.wait(); }
  double seconds_between(int first, int second) override {
    wait();
    const auto at = [this](int slot) { return marks_.at(static_cast<std::size_t>(slot)); };
    return std::chrono::duration<double>(at(second) - at(first)).count();
  }
  Traffic traffic() const override { return traffic_; }

  // For Exchange and for tests. The arrays belong to the worker: only queued operations may access
  // them.
  Worker& worker() { return worker_; }
  const Workload& workload() const { return workload_; }
  Position* positions() { return positions_.data(); }
  StepSums& sums() { return step_sums_; }
  void count(const Traffic& traffic) { traffic_ = traffic_ + traffic; }

 private:
  template <class T>
  void download(std::span<T> to, const std::vector<T>& from) {
    worker_.queue([to, &from] { std::copy_n(from.begin(), to.size(), to.begin()); });
    traffic_.d2h += static_cast<std::int64_t>(to.size_bytes());
    finish_copy();
  }
  // A copying call returns when the copy is finished, or at once.
  void finish_copy() {
    if (workload_.copies == Copies::blocking) wait();
  }
  SliceOfParticles particles() {
    const Slice slice = workload_.slice;
    return {.r = r_.data(),
            .v = v_.data(),
            .forces = forces_.data(),
            .positions = positions_.data() + slice.first,
            .count = slice.count,
            .cations = std::clamp(workload_.cations - slice.first, 0, slice.count)};
  }
  // Once a force is invalid nothing moves any more, so that the overlapping pair can be named.
  bool may_move() {
    overlapped_ = overlapped_ || !all_sound(particles());
    return !overlapped_;
  }
  // Friction and mean force of this step follow from the sums of all devices.
  void nose_hoover_after_forces(const Motion& motion) {
    if (!first_step_)
      friction_ = next_friction(friction_, from_quanta(step_sums_.twice_kinetic), motion);
    first_step_ = false;
    Motion step = with_friction(motion, friction_);
    for (int a = 0; a < 3; ++a)
      step.mean_force[a] = from_quanta(step_sums_.force[a]) / workload_.n;
    step_sums_ = {};
    if (may_move()) step_sums_.twice_kinetic = kick_and_drift_counting(particles(), step);
  }

  Workload workload_;
  std::vector<Position> positions_;
  std::vector<Force> forces_;
  std::vector<PairSums> pair_sums_;
  std::vector<double> r_, v_;
  StepSums step_sums_;
  double friction_ = 0;
  bool first_step_ = true;
  bool overlapped_ = false;
  std::vector<Clock::time_point> marks_;
  Traffic traffic_;
  Worker worker_;  // last: its remaining work uses the other members
};

}  // namespace gpucast::mdapp::host

#include "engine/host/host_device.h"

#include <algorithm>

#include "kernels/host/host_kernels.h"

namespace gpucast::mdapp::host {

HostDevice::HostDevice(const std::string& name, const Workload& workload)
    : workload_(workload), worker_(name) {
  worker_.queue([this] {
    const auto slice = static_cast<std::size_t>(workload_.slice.count);
    positions_.resize(static_cast<std::size_t>(workload_.n));
    forces_.resize(slice);
    pair_sums_.resize(slice);
  });
  wait();
}

void HostDevice::finish_copy() {
  if (workload_.copies == Copies::blocking) wait();
}

void HostDevice::upload(std::span<const Position> positions) {
  worker_.queue([this, positions] { std::ranges::copy(positions, positions_.begin()); });
  traffic_.h2d += static_cast<std::int64_t>(positions.size_bytes());
  finish_copy();
}

template <class T>
void HostDevice::download(std::span<T> to, const std::vector<T>& from) {
  worker_.queue([to, &from] { std::copy_n(from.begin(), to.size(), to.begin()); });
  traffic_.d2h += static_cast<std::int64_t>(to.size_bytes());
  finish_copy();
}

void HostDevice::download(std::span<Force> forces) { download(forces, forces_); }
void HostDevice::download(std::span<PairSums> sums) { download(sums, pair_sums_); }

void HostDevice::compute(Output output) {
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

void HostDevice::upload_state(std::span<const double> r, std::span<const double> v) {
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

void HostDevice::download_state(std::span<double> r, std::span<double> v) {
  wait();
  std::ranges::copy(r_, r.begin());
  std::ranges::copy(v_, v.begin());
}

SliceOfParticles HostDevice::particles() {
  const Slice slice = workload_.slice;
  return {.r = r_.data(),
          .v = v_.data(),
          .forces = forces_.data(),
          .positions = positions_.data() + slice.first,
          .count = slice.count,
          .cations = std::clamp(workload_.cations - slice.first, 0, slice.count)};
}

// Once forces are wrong nothing moves any more, so that the pair that overlaps can be named.
bool HostDevice::may_move() {
  overlapped_ = overlapped_ || !all_sound(particles());
  return !overlapped_;
}

void HostDevice::before_forces(const Motion& motion, IntegratorKind kind) {
  worker_.queue([this, motion, kind] {
    if (kind == IntegratorKind::verlet && may_move()) kick_and_drift_all(particles(), motion);
    pack_all(particles(), motion.inverse_lambda);
  });
}

void HostDevice::sum_up() {
  worker_.queue([this] { add_forces(particles(), step_sums_.force); });
}

void HostDevice::after_forces(const Motion& motion, IntegratorKind kind) {
  worker_.queue([this, motion, kind] {
    if (kind == IntegratorKind::nose_hoover) {
      nose_hoover_after_forces(motion);
    } else if (may_move()) {
      kick_all(particles(), motion);
    }
  });
}

// Friction and mean force of this step follow from what all devices summed up.
void HostDevice::nose_hoover_after_forces(const Motion& motion) {
  if (!first_step_) {
    friction_ = next_friction(friction_, from_quanta(step_sums_.twice_kinetic), motion);
  }
  first_step_ = false;
  Motion step = with_friction(motion, friction_);
  for (int a = 0; a < 3; ++a) {
    step.mean_force[a] = from_quanta(step_sums_.force[a]) / workload_.n;
  }
  step_sums_ = {};
  if (may_move()) step_sums_.twice_kinetic = kick_and_drift_counting(particles(), step);
}

bool HostDevice::overlapped() {
  wait();
  return overlapped_;
}

void HostDevice::mark(int slot) {
  worker_.queue([this, slot] {
    const auto index = static_cast<std::size_t>(slot);
    if (marks_.size() <= index) marks_.resize(index + 1);
    marks_[index] = Clock::now();
  });
}

double HostDevice::seconds_between(int first, int second) {
  wait();
  const auto elapsed =
      marks_.at(static_cast<std::size_t>(second)) - marks_.at(static_cast<std::size_t>(first));
  return std::chrono::duration<double>(elapsed).count();
}

}  // namespace gpucast::mdapp::host

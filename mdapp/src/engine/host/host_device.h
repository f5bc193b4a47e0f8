// A worker thread as a Device: its own memory, touched first by itself, and a queue. An exchange
// among several: each copies what it needs from the others' memory.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "gpucast/devices/host/worker.h"
#include "physics/integrator.h"
#include "physics/motion.h"

namespace gpucast::mdapp::host {

using devices::host::Worker;

class HostDevice : public Device {
 public:
  HostDevice(const std::string& name, const Workload& workload);

  void upload(std::span<const Position> positions) override;
  void compute(Output output) override;
  void download(std::span<Force> forces) override;
  void download(std::span<PairSums> sums) override;

  void upload_state(std::span<const double> r, std::span<const double> v) override;
  void download_state(std::span<double> r, std::span<double> v) override;
  void before_forces(const Motion& motion, IntegratorKind kind) override;
  void sum_up() override;
  void after_forces(const Motion& motion, IntegratorKind kind) override;
  bool overlapped() override;

  void mark(int slot) override;
  void wait() override { worker_.wait(); }
  double seconds_between(int first, int second) override;
  Traffic traffic() const override { return traffic_; }

  // For Exchange and for tests. The arrays are the worker's: to be touched in queued operations
  // only.
  Worker& worker() { return worker_; }
  const Workload& workload() const { return workload_; }
  Position* positions() { return positions_.data(); }
  StepSums& sums() { return step_sums_; }
  void count(const Traffic& traffic) { traffic_ = traffic_ + traffic; }

 private:
  using Clock = std::chrono::steady_clock;

  template <class T>
  void download(std::span<T> to, const std::vector<T>& from);
  // A call that copies returns when the copy is done, or at once.
  void finish_copy();
  SliceOfParticles particles();
  bool may_move();
  void nose_hoover_after_forces(const Motion& motion);

  Workload workload_;
  std::vector<Position> positions_;
  std::vector<Force> forces_;
  std::vector<PairSums> pair_sums_;
  std::vector<double> r_;
  std::vector<double> v_;
  StepSums step_sums_;
  double friction_ = 0;
  bool first_step_ = true;
  bool overlapped_ = false;
  std::vector<Clock::time_point> marks_;
  Traffic traffic_;
  Worker worker_;  // last: what it still does at the end uses the rest
};

}  // namespace gpucast::mdapp::host

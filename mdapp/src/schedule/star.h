// The host in the middle: it sends all positions to every device and gets a slice of the forces
// back from each.
//
// star-serial, as in the paper: blocking copies and launches, one GPU after another; first all
// positions to each, then a launch on each, then the forces from each, which waits for its kernel.
// star-async: pinned memory and one stream a GPU, everything under way at once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace gpucast::mdapp {

class Star : public ForceSchedule {
 public:
  Star(Engine& engine, const System& system, const ScheduleOptions& options, Devices devices);

  Slice integrates() const override { return {0, static_cast<int>(positions_.span().size())}; }
  std::span<Position> positions() override { return positions_.span(); }
  std::span<Force> forces() override { return forces_.span(); }
  void compute() override;
  Phases compute_in_phases() override;
  std::span<const PairSums> compute_sums() override;
  std::vector<Traffic> traffic() const override { return devices_.traffic(); }

 private:
  enum Phase { h2d, kernel, d2h };
  void queue_step(bool marked = false);

  bool serial_;
  HostArray<Position> positions_;
  HostArray<Force> forces_;
  HostArray<PairSums> sums_;
  Devices devices_;
  std::function<void()> recorded_step_;  // last: it refers to the devices, and goes first
};

}  // namespace gpucast::mdapp

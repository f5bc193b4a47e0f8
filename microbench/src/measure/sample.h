// Samples of one cell.
#pragma once

#include <cstddef>
#include <stop_token>

#include "measure/suite.h"

namespace gpucast::microbench {

struct SampleOptions {
  double relative_half_width = 0.01;  // of the median's 95 % interval
  double max_seconds = 0.5;           // of samples, once there are `fewest`
  std::size_t fewest = 6;             // with six the 95 % interval is bounded
};

// Samples of `next`, after one that is dropped, until their median is known or time is up.
std::vector<double> take_samples(const std::function<double()>& next, const SampleOptions& options,
                                 const std::stop_token& interrupted);

// Copies behind a gate are timed in batches: returns the number of copies that take about `seconds`
// each.
int batch_of(double seconds, const CopySet::Batch& wanted);

std::vector<double> sample(CopySet& copies, records::TransferMethod method,
                           const SampleOptions& options, const std::stop_token& interrupted);
std::vector<double> sample(Launches& launches, const LaunchCell& cell, const SampleOptions& options,
                           const std::stop_token& interrupted);
std::vector<double> sample(HostLoops& loops, const HostMemoryCell& cell,
                           const SampleOptions& options, const std::stop_token& interrupted);

// The latency of a small copy behind a gate: two independent estimates of the time that it adds to
// dependent work (empty kernels, one before and one after), and the time of another copy directly
// after it.
struct Latency {
  double slope = 0;   // of the time of many over their number
  double single = 0;  // of one behind another
  double each = 0;    // of many without anything between them: the slope
};
Latency latency(CopySet& copies);

// Distributes time over the remaining measurements.
class Budget {
 public:
  // `seconds` for `cells` measurements; 0: unlimited.
  Budget(double seconds, std::size_t cells) : seconds_(seconds), cells_(cells) {}

  // Returns the maximum seconds of samples for the next cell, `spent` seconds after the start. Most
  // cells need less than their share, which then goes to the others.
  double next(double spent) const {
    constexpr double usual = 0.5;
    if (seconds_ <= 0) return usual;
    const double left = seconds_ - spent;
    if (left <= 0 || cells_ == 0) return 0;
    constexpr double generous = 1.5;
    return generous * left / static_cast<double>(cells_);
  }
  void done() { cells_ -= cells_ > 0 ? 1 : 0; }

 private:
  double seconds_;
  std::size_t cells_;
};

}  // namespace gpucast::microbench

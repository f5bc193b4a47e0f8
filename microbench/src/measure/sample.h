// Samples of one cell.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/engine.h"
#include "measure/cell.h"

namespace gpucast::microbench {

struct SampleOptions {
  double relative_half_width = 0.01;  // of the median's 95 % interval
  double max_seconds = 0.5;           // spent on samples, once there are `fewest`
  std::size_t fewest = 6;             // with six the 95 % interval is bounded
};

// Samples of `next`, after one that does not count, until their median is known or time is up.
std::vector<double> take_samples(const std::function<double()>& next, const SampleOptions& options,
                                 const std::stop_token& interrupted);

// Copies behind a gate are timed in batches: so many for copies that take about `seconds` each.
int batch_of(double seconds, const CopySet::Batch& wanted);

std::vector<double> sample(CopySet& copies, records::TransferMethod method,
                           const SampleOptions& options, const std::stop_token& interrupted);
std::vector<double> sample(Launches& launches, const LaunchCell& cell, const SampleOptions& options,
                           const std::stop_token& interrupted);
std::vector<double> sample(HostLoops& loops, const HostMemoryCell& cell,
                           const SampleOptions& options, const std::stop_token& interrupted);

// What a small copy takes behind a gate. Two estimates that know nothing of one another of what it
// adds to work that depends on it: empty kernels, one before and one behind. And what one more
// costs where nothing comes between copies.
struct Latency {
  double slope = 0;   // of the time of many against their number
  double single = 0;  // of one behind another
  double each = 0;    // of many with nothing between them: the slope
};
Latency latency(CopySet& copies);

}  // namespace gpucast::microbench

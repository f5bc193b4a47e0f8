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
  double max_seconds = 0.5;           // of samples; six are taken in any case
};

struct Samples {
  std::vector<double> seconds;
  bool valid = true;  // false: what arrived is not what was sent
};

// Of `next`, after one that does not count, until their median is known or time is up.
std::vector<double> take_samples(const std::function<double()>& next, const SampleOptions& options,
                                 const std::stop_token& interrupted);

// Copies behind a gate are timed in batches, so that the clock's resolution (half a microsecond)
// is small beside them: so many for a copy that takes about `seconds`.
int batch_of(double seconds);

Samples sample(CopySet& copies, records::TransferMethod method, const SampleOptions& options,
               const std::stop_token& interrupted);
std::vector<double> sample(Launches& launches, const LaunchCell& cell, const SampleOptions& options,
                           const std::stop_token& interrupted);

// What a small copy takes behind a gate: two estimates that know nothing of one another, and what
// one more costs where the next may begin before the last has ended.
struct Latency {
  double slope = 0;   // of the time of copies one by one against their number, less that of nothing
  double single = 0;  // one copy, less nothing at all
  double each = 0;    // of many queued together
};
Latency latency(CopySet& copies);

}  // namespace gpucast::microbench

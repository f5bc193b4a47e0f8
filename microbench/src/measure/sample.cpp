#include "measure/sample.h"

#include <numeric>
#include <thread>
#include <utility>

#include "gpucast/devices/clock.h"
#include "gpucast/support/stopping.h"

namespace gpucast::microbench {
namespace {

// Longer than servers of remote GPUs and their clients poll for messages before they sleep.
constexpr std::chrono::milliseconds rest(5);
constexpr double shortest = 1e-9;  // s: differences may be zero, which records do not allow

double at_least_a_nanosecond(double seconds) { return std::max(seconds, shortest); }

// Median time of an empty gated sample, of `times` samples.
template <class Queued>
double nothing_behind_gate(Queued& queued, std::size_t times) {
  std::vector<double> samples(times);
  std::ranges::generate(samples, [&] {
    queued.next_queue();
    return queued.gated(0);
  });
  return support::median(samples);
}

// Mean of the middle half: this excludes interrupted copies, and a series in which the device was
// slower.
double middle_mean(std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto cut = std::ssize(samples) / 4;
  return std::accumulate(samples.begin() + cut, samples.end() - cut, 0.0) /
         static_cast<double>(std::ssize(samples) - 2 * cut);
}

}  // namespace

std::vector<double> take_samples(const std::function<double()>& next, const SampleOptions& options,
                                 const std::stop_token& interrupted) {
  support::StopByInterval rule(
      {.relative_half_width = options.relative_half_width, .min_samples = options.fewest});
  next();
  // A sample takes longer than the time that it measures, with gates and everything.
  const auto begin = devices::Clock::now();
  const auto time_is_up = [&] { return devices::seconds_since(begin) >= options.max_seconds; };
  while (!interrupted.stop_requested()) {
    rule.add(at_least_a_nanosecond(next()));
    if (rule.done() || (rule.samples().size() >= options.fewest && time_is_up())) break;
  }
  return rule.samples();
}

int batch_of(double seconds, const CopySet::Batch& wanted) {
  const double most = wanted.most;
  return static_cast<int>(std::clamp(std::ceil(wanted.seconds / seconds), 1.0, most));
}

std::vector<double> sample(CopySet& copies, records::TransferMethod method,
                           const SampleOptions& options, const std::stop_token& interrupted) {
  if (method == records::TransferMethod::call) {
    const auto once = [&] {
      copies.next_queue();
      return copies.call();
    };
    return take_samples(once, options, interrupted);
  }
  using Payload = CopySet::Payload;
  const double nothing = nothing_behind_gate(copies, 5);
  const double alone = copies.between_kernels(1, Payload::copies, 0) -
                       copies.between_kernels(1, Payload::nothing, 0);
  const int batch = batch_of(at_least_a_nanosecond(alone), copies.batch());
  const auto once = [&] {
    copies.next_queue();
    return (copies.gated(batch) - nothing) / batch;
  };
  return take_samples(once, options, interrupted);
}

std::vector<double> sample(Launches& launches, const LaunchCell& cell, const SampleOptions& options,
                           const std::stop_token& interrupted) {
  using records::LaunchMethod;
  const auto once = [&] {
    launches.next_queue();
    switch (cell.method) {
      case LaunchMethod::submit:
      case LaunchMethod::row:
        return launches.submit(cell.count);
      case LaunchMethod::sync:
      case LaunchMethod::drain:
        return launches.sync(cell.count);
      case LaunchMethod::idle:
        return launches.sync(0);
      case LaunchMethod::rest:
        std::this_thread::sleep_for(rest);
        return launches.sync(0);
      case LaunchMethod::graph:
        return launches.graph(cell.count);
      case LaunchMethod::gated:
        break;
    }
    return launches.gated(cell.count);
  };
  const double nothing = cell.method == LaunchMethod::gated ? nothing_behind_gate(launches, 11) : 0;
  return take_samples([&] { return once() - nothing; }, options, interrupted);
}

std::vector<double> sample(HostLoops& loops, const HostMemoryCell& cell,
                           const SampleOptions& options, const std::stop_token& interrupted) {
  const auto once = [&] {
    switch (cell.phase) {
      case HostPhase::allocate:
        return loops.allocate();
      case HostPhase::first_touch:
        return loops.first_touch();
      case HostPhase::copy:
        return loops.copy();
      case HostPhase::loop:
        break;
    }
    return loops.loop(cell.pattern, cell.runner);
  };
  // CPUs read write-combined memory sixty times more slowly, so that there is time for only a few
  // such loops.
  SampleOptions few = options;
  few.fewest = std::min<std::size_t>(few.fewest, 3);
  return take_samples(once, few, interrupted);
}

Latency latency(CopySet& copies) {
  using Payload = CopySet::Payload;
  constexpr int before = 3;
  constexpr int short_batch = 4;
  constexpr int long_batch = 32;
  const auto with = [&](int count) {
    return copies.between_kernels(count, Payload::copies, before);
  };
  const auto without = [&](int count) {
    return copies.between_kernels(count, Payload::nothing, before);
  };
  with(2);
  without(2);
  // Differences of samples that are adjacent in time and on one queue: drifts and differences
  // between queues cancel. Over all queues (there are at most 32), in turn. A wait for another
  // engine randomly takes one time or twice that: many in a row show the mean of both, and so must
  // a single one.
  constexpr int rounds = 64;
  constexpr int singles = 4;  // a round
  std::vector<double> slopes;
  std::vector<double> single;
  std::vector<double> each_of_many;
  for (int round = 0; round < rounds; ++round) {
    copies.next_queue();
    slopes.push_back(
        (with(long_batch) - with(short_batch) - without(long_batch) + without(short_batch)) /
        (long_batch - short_batch));
    // The second one is used: the first follows an event, which changes its wait by a microsecond.
    for (int k = 0; k < singles; ++k)
      single.push_back(with(2) - with(1) - without(2) + without(1));
    each_of_many.push_back((copies.gated(long_batch) - copies.gated(short_batch)) /
                           (long_batch - short_batch));
  }
  return {.slope = middle_mean(std::move(slopes)),
          .single = middle_mean(std::move(single)),
          .each = middle_mean(std::move(each_of_many))};
}

}  // namespace gpucast::microbench

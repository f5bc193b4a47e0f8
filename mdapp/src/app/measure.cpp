#include "app/measure.h"

#include <algorithm>
#include <cmath>

#include "physics/observables.h"

namespace gpucast::mdapp {
namespace {

// One step in eight is timed phase by phase.
constexpr std::size_t timed_a_phase = 7;
// Steps between looks at the rule and at Ctrl-C.
constexpr int most_in_a_row = 64;
constexpr double longest_row = 0.1;  // s

double total_energy(Stepper& stepper) {
  const double potential = stepper.potential().energy;
  return potential + kinetic_energy(stepper.system());
}

Traffic bytes_so_far(const Stepper& stepper, Processes& processes) {
  Traffic sum;
  for (const Traffic& device : stepper.traffic())
    sum = sum + device;
  return {.h2d = processes.add_up(sum.h2d),
          .d2h = processes.add_up(sum.d2h),
          .exchange = processes.add_up(sum.exchange)};
}

// The difference of two moments that nearly coincide may come out below 0.
Phases not_negative(Phases phases) {
  for (double* seconds : {&phases.h2d, &phases.kernel, &phases.d2h, &phases.cpu, &phases.exchange})
    *seconds = std::max(0.0, *seconds);
  return phases;
}

// Either rule, fed with the same samples.
class Rule {
 public:
  explicit Rule(const Enough& enough)
      : steps_(enough.steps),
        seconds_left_(enough.max_seconds),
        interval_({.relative_half_width = enough.relative_half_width,
                   .max_seconds = enough.max_seconds}) {}

  void add(double seconds) {
    ++count_;
    last_ = seconds;
    if (steps_) return;
    seconds_left_ -= seconds;
    interval_.add(seconds);
  }

  // How many steps to make before the next look; 0: it is enough.
  int next() const {
    if (steps_ ? count_ >= *steps_ : interval_.done()) return 0;
    const double row_seconds = steps_ ? longest_row : std::min(longest_row, seconds_left_);
    const double fit = last_ > 0 ? row_seconds / last_ : 1;
    const int row = static_cast<int>(std::clamp(fit, 1.0, 1.0 * most_in_a_row));
    const std::size_t left = steps_ ? *steps_ - count_ : most_in_a_row;
    return static_cast<int>(std::min(static_cast<std::size_t>(row), left));
  }

 private:
  std::optional<std::size_t> steps_;
  double seconds_left_;
  support::StopByInterval interval_;
  std::size_t count_ = 0;
  double last_ = 0;
};

// At least two steps: the first ones load kernels and touch memory.
bool warm_up(Stepper& stepper, const support::WarmUp::Options& options, Processes& processes,
             const std::stop_token& interrupted) {
  support::WarmUp warm(options);
  int made = 0;
  while (true) {
    const bool go_on = !interrupted.stop_requested() && (made < 2 || !warm.done());
    if (processes.agree(go_on ? 1 : 0) == 0) break;
    warm.add(stepper.steps(1).front());
    ++made;
  }
  return processes.agree(interrupted.stop_requested() ? 1 : 0) == 0;
}

}  // namespace

Measured measure(Stepper& stepper, const MeasureOptions& options, Processes& processes,
                 const std::stop_token& interrupted) {
  Measured measured;
  const double energy_before = options.energy ? total_energy(stepper) : 0;
  if (!warm_up(stepper, options.warm_up, processes, interrupted)) {
    measured.interrupted = true;
    return measured;
  }
  const Traffic before = bytes_so_far(stepper, processes);
  Rule rule(options.enough);
  const auto catch_up_with_phases = [&] {
    while (options.phases && measured.phases.size() * timed_a_phase <= measured.seconds.size())
      measured.phases.push_back(not_negative(stepper.step_in_phases()));
  };
  while (true) {
    const bool stop = interrupted.stop_requested();
    measured.interrupted = processes.agree(stop && rule.next() > 0 ? 1 : 0) != 0;
    const int count = static_cast<int>(processes.agree(rule.next()));
    if (measured.interrupted || count == 0) break;
    catch_up_with_phases();
    for (const double seconds : stepper.steps(count)) {
      measured.seconds.push_back(seconds);
      rule.add(seconds);
    }
  }
  // However long the last row was, so that their number does not depend on how fast steps were.
  if (!measured.interrupted) catch_up_with_phases();
  const Traffic moved = bytes_so_far(stepper, processes) - before;
  const auto steps = static_cast<double>(measured.seconds.size() + measured.phases.size());
  if (steps > 0) {
    const auto a_step = [steps](std::int64_t bytes) {
      return std::llround(static_cast<double>(bytes) / steps);
    };
    measured.bytes_a_step = {
        .h2d = a_step(moved.h2d), .d2h = a_step(moved.d2h), .exchange = a_step(moved.exchange)};
  }
  // One particle has no energy that could drift.
  if (options.energy && steps > 0 && energy_before != 0) {
    measured.energy_drift = (total_energy(stepper) - energy_before) / std::abs(energy_before);
  }
  return measured;
}

}  // namespace gpucast::mdapp

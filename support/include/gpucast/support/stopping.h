// Stopping rules for the samples of a cell and for warming up; they receive numbers and use no
// clock.
#pragma once

#include <limits>

#include "gpucast/support/median.h"

namespace gpucast::support {

inline constexpr double look_growth = 1.05;

// Takes samples until the 95 % interval of their median (median.h) is narrow, or their time is up.
//
// The interval is checked whenever the number of samples has grown by a twentieth: checks then take
// little time compared with the samples, and a narrow interval is less often luck.
class StopByInterval {
 public:
  struct Options {
    double relative_half_width = 0.01;
    std::size_t min_samples = 6;
    double min_seconds = 0;  // sum of the samples
    double max_seconds = std::numeric_limits<double>::infinity();
  };

  explicit StopByInterval(Options options) : options_(options), next_look_(options.min_samples) {}

  void add(double seconds) {
    samples_.push_back(seconds);
    seconds_ += seconds;
    if (samples_.size() < next_look_) return;
    const auto size = static_cast<double>(samples_.size());
    next_look_ = static_cast<std::size_t>(std::max(size + 1, std::ceil(size * look_growth)));
    const auto interval = median_interval(samples_);
    narrow_ = interval && interval->relative_half_width() <= options_.relative_half_width;
  }
  bool done() const {
    return (narrow_ && seconds_ >= options_.min_seconds) || seconds_ >= options_.max_seconds;
  }
  bool narrow() const { return narrow_; }  // false if time ended it
  const std::vector<double>& samples() const { return samples_; }

 private:
  Options options_;
  std::vector<double> samples_;
  double seconds_ = 0;
  std::size_t next_look_;
  bool narrow_ = false;
};

// Makes uncounted steps until clocks have settled.
//
// A GPU's clock rises within the first second or so of work, and may sink again as it warms up. It
// has settled when at least `least_seconds` have passed, and the medians of the last quarter of the
// time and of the quarter before it agree within `tolerance` (relative). Each quarter must hold
// three steps, so that one disturbed step does not decide.
class WarmUp {
 public:
  struct Options {
    double least_seconds = 0.5;
    double most_seconds = 5;
    double tolerance = 0.02;
  };

  explicit WarmUp(Options options) : options_(options), next_look_(options.least_seconds) {}

  void add(double seconds) {
    steps_.push_back(seconds);
    ends_.push_back(this->seconds() + seconds);
    if (ends_.back() < next_look_) return;
    next_look_ = ends_.back() * look_growth;
    settled_ = settled_ || windows_agree();
  }
  bool done() const { return settled_ || seconds() >= options_.most_seconds; }
  bool settled() const { return settled_; }  // false: not yet, or given up
  double seconds() const { return ends_.empty() ? 0 : ends_.back(); }

 private:
  bool windows_agree() const {
    const auto step_after = [&](double moment) {
      return steps_.begin() + (std::ranges::upper_bound(ends_, moment) - ends_.begin());
    };
    const auto half = step_after(seconds() / 2);
    const auto last_quarter = step_after(seconds() * 3 / 4);
    constexpr std::ptrdiff_t fewest = 3;
    if (last_quarter - half < fewest || steps_.end() - last_quarter < fewest) return false;
    const double before = median({half, last_quarter});
    const double now = median({last_quarter, steps_.end()});
    return std::abs(now - before) <= options_.tolerance * before;
  }

  Options options_;
  std::vector<double> steps_;
  std::vector<double> ends_;  // seconds from the start to the end of each step
  double next_look_;
  bool settled_ = false;
};

}  // namespace gpucast::support

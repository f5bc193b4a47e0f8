#include "gpucast/support/stopping.h"

#include <algorithm>
#include <cmath>

#include "gpucast/support/median.h"

namespace gpucast::support {

namespace {

constexpr double look_growth = 1.05;
constexpr std::ptrdiff_t fewest_in_window = 3;

}  // namespace

StopByInterval::StopByInterval(Options options)
    : options_(options), next_look_(options.min_samples) {}

void StopByInterval::add(double seconds) {
  samples_.push_back(seconds);
  seconds_ += seconds;
  if (samples_.size() < next_look_) return;
  const auto size = static_cast<double>(samples_.size());
  next_look_ = static_cast<std::size_t>(std::max(size + 1, std::ceil(size * look_growth)));
  const auto interval = median_interval(samples_);
  narrow_ = interval && interval->relative_half_width() <= options_.relative_half_width;
}

WarmUp::WarmUp(Options options) : options_(options), next_look_(options.least_seconds) {}

void WarmUp::add(double seconds) {
  steps_.push_back(seconds);
  ends_.push_back(this->seconds() + seconds);
  if (ends_.back() < next_look_) return;
  next_look_ = ends_.back() * look_growth;
  settled_ = settled_ || windows_agree();
}

bool WarmUp::windows_agree() const {
  const auto step_after = [&](double moment) {
    return steps_.begin() + (std::ranges::upper_bound(ends_, moment) - ends_.begin());
  };
  const auto half = step_after(seconds() / 2);
  const auto last_quarter = step_after(seconds() * 3 / 4);
  if (last_quarter - half < fewest_in_window || steps_.end() - last_quarter < fewest_in_window) {
    return false;
  }
  const double before = median({half, last_quarter});
  const double now = median({last_quarter, steps_.end()});
  return std::abs(now - before) <= options_.tolerance * before;
}

}  // namespace gpucast::support

// Time shared out over what is left to measure.
#pragma once

#include <cstddef>

namespace gpucast::microbench {

class Budget {
 public:
  // `seconds` for `cells` measurements; endless for a `seconds` of 0.
  Budget(double seconds, std::size_t cells) : seconds_(seconds), cells_(cells) {}

  // At most so many seconds of samples for the next cell, `spent` seconds after the start. Most
  // cells need less than their share, which the others then get.
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

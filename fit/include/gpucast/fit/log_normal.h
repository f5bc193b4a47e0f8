// What is held plausible of a positive quantity: a log-normal distribution.
#pragma once

namespace gpucast::fit {

struct LogNormal {
  double log_median;
  double log_sd;
};

}  // namespace gpucast::fit

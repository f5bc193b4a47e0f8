// A log-normal prior of a positive quantity.
#pragma once

namespace gpucast::fit {

struct LogNormal {
  double log_median;
  double log_sd;
};

}  // namespace gpucast::fit

// The arguments of a scaling term: a step of a program that is known only by its step times.
//
// A program of domain decomposition cuts its n elements into N domains of n / N each. In three
// dimensions a domain has a surface of (n / N)^(2/3) elements and edges of (n / N)^(1/3); a cubic
// arrangement of N domains has (N - N^(2/3)) inner faces a dimension, so that of a domain's faces
// the share 1 - N^(-1/3) is cut on average: none with one GPU, half with eight, all with many.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace gpucast::model::scaling {

// How the work of a program grows with its size n.
struct Growth {
  std::string_view name;
  double power;  // 0: n log2 n
  double odds;   // prior log odds
  // If GPUs may not be full: times below the knee contain no information about it.
  double odds_beyond;
  double freedom = 0;  // standard deviation of the power, if it is fitted
};

// None of some thirty programs with published tables (fit/scaling/priors.h) has work that grows as
// the cube of what its table calls the size: beyond a knee that is as rare as `whole`.
inline constexpr std::array growths{
    Growth{"n", 1, 0, 0},           Growth{"n^(4/3)", 4.0 / 3, -5, -2},
    Growth{"n^(3/2)", 1.5, -5, -2}, Growth{"n^2", 2, -5, -2},
    Growth{"n^3", 3, -5, -3.4},     Growth{"n log n", 0, -5, -2},
    Growth{"n^p", 2, -5, -2, .5},
};

struct Scale {
  double n = 1;      // size: particles, cells, basis functions, samples of a batch
  double gpus = 1;   // N
  double nodes = 0;  // 0: not known
  const Growth* growth = growths.data();

  // Work of the whole step in arbitrary units.
  double work() const {
    return growth->power > 0 ? std::pow(n, growth->power) : n * std::log2(std::max(n, 2.0));
  }
  double share() const { return n / gpus; }
  double surface() const { return std::pow(share(), 2.0 / 3); }
  double edge() const { return std::cbrt(share()); }
  double cut() const { return 1 - 1 / std::cbrt(gpus); }  // share of a domain's faces
};

// The extent of the measurements, which decides which terms they can distinguish.
struct Extent {
  std::size_t sizes = 0;             // distinct n
  std::size_t sizes_of_a_count = 0;  // the most distinct n that one N was measured with
  std::size_t counts = 0;            // distinct N
  double least_gpus = 1;
  double largest_gpus = 1;
  bool shares_differ = false;  // whether n / N varies by more than a factor of 1.3
  bool several_nodes = false;  // whether node counts are known and differ
};

}  // namespace gpucast::model::scaling

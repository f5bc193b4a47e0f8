// A model parameter as an object: name, unit, meaning, prior, and the coordinate in which times are
// linear in it.
#pragma once

#include <string>

namespace gpucast::model {

// The prior distribution of a parameter: its logarithm is normal about that of the median. Both
// refer to the parameter itself, even for a throughput, and never to its reciprocal.
struct Prior {
  double median = 0;  // in the parameter's unit; 0: unknown, the data set the scale
  double log_sd = 2;  // standard deviation of the natural logarithm

  friend bool operator==(const Prior&, const Prior&) = default;
};

// Every parameter is positive. Step and transfer times are (almost) linear in the *linear
// coordinate* of each: the parameter itself, or its reciprocal for a throughput (a time per byte).
// Start values, rank and identifiable combinations are computed in linear coordinates; reports use
// the parameters.
struct Parameter {
  std::string name;         // the paper's symbol, for example "t_gpu" or "B_h2d"
  std::string unit;         // SI: "s" or "B/s"; empty: a pure number
  std::string meaning;      // one line for tables and help
  Prior prior{};            // of the value
  bool reciprocal = false;  // true: the linear coordinate is 1/value

  // A share, an exponent or a size: times are not linear in it together with the others. Its prior
  // has a median, where searches begin.
  bool is_ratio() const { return unit.empty(); }

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// Value in linear coordinates, and back (the map is its own inverse).
inline double linear_coordinate(const Parameter& parameter, double value) {
  return parameter.reciprocal ? 1.0 / value : value;
}

// Priors of parameters that several terms share.
//
// Medians are those of GPUs and hosts of the 2010s and 2020s; the widths cover others: a log_sd of
// 1 is a factor of 5 up or down with 90 %, one of 2 a factor of 27. They matter where the data
// contain little information, and keep forecasts within what machines do. They come from a study of
// accuracy on data of H200 machines; times of pieces of work depend on the program, so that the
// data set their scale.

// GPU
inline constexpr Prior plausible_start_up{.median = 6e-6, .log_sd = 1};  // s, a kernel's
inline constexpr Prior plausible_sharpness{.median = 3, .log_sd = 0.5};  // p of occupancy.h
inline constexpr Prior plausible_root{.median = 0, .log_sd = 1.5};       // t_root of work.h

// Host
inline constexpr Prior plausible_host_particle{.median = 8e-9, .log_sd = 1.5};  // s
inline constexpr Prior plausible_host_step{.median = 5e-7, .log_sd = 1.5};      // s
inline constexpr Prior plausible_growth{.median = 1, .log_sd = 0.5};            // r of bent.h
inline constexpr Prior plausible_cache{.median = 1e5, .log_sd = 0.7};           // n_c of bent.h

// Communication: 1 us and 400 GB/s on a board, 80 us and 0.5 GB/s over the paper's network
inline constexpr Prior plausible_launch{.median = 3e-6, .log_sd = 1};         // s
inline constexpr Prior plausible_queueing{.median = 6e-6, .log_sd = 0.9};     // s, two launches
inline constexpr Prior plausible_latency{.median = 1e-5, .log_sd = 1.5};      // s
inline constexpr Prior plausible_throughput{.median = 1.5e10, .log_sd = 2};   // B/s
inline constexpr Prior plausible_shared_host{.median = 3e10, .log_sd = 1.2};  // B/s
inline constexpr Prior plausible_share{.median = 0.78, .log_sd = 0.3};        // s_next

}  // namespace gpucast::model

// A model parameter as an object: name, unit, meaning, what is held plausible of it, and the
// coordinate in which times are linear in it.
#pragma once

#include <string>

namespace gpucast::model {

// What is held plausible of a parameter before anything was measured: its logarithm is normal about
// that of the median. Both are of the parameter itself, for a throughput too, never of its
// reciprocal.
struct Prior {
  double median = 0;  // in the parameter's unit; 0: nothing is known, its scale comes from the data
  double log_sd = 2;  // standard deviation of the natural logarithm

  friend bool operator==(const Prior&, const Prior&) = default;
};

// Every parameter is positive. Step and transfer times are (almost) linear in the *linear
// coordinate* of each: the parameter itself, or its reciprocal for a throughput (a time per byte).
// Start values, rank and identifiable combinations are worked out in linear coordinates; reports
// are not.
struct Parameter {
  std::string name;         // the paper's symbol, for example "t_gpu" or "B_h2d"
  std::string unit;         // SI: "s" or "B/s"; empty: a pure number
  std::string meaning;      // one line for tables and help
  Prior prior{};            // of the value
  bool reciprocal = false;  // true: the linear coordinate is 1/value

  // A share, an exponent, a size: no time is linear in it and the others together. Its prior has a
  // median, which is where searches begin.
  bool is_ratio() const { return unit.empty(); }

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// Value in linear coordinates, and back (the map is its own inverse).
inline double linear_coordinate(const Parameter& parameter, double value) {
  return parameter.reciprocal ? 1.0 / value : value;
}

}  // namespace gpucast::model

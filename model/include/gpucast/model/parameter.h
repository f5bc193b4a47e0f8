// A model parameter as an object: name, unit, meaning, and the coordinate in which times are linear
// in it.
#pragma once

#include <string>

namespace gpucast::model {

// Every parameter is positive. Step and transfer times are (almost) linear in the *linear
// coordinate* of each: the parameter itself, or its reciprocal for a throughput (a time per byte).
// Start values, rank and identifiable combinations are worked out in linear coordinates; reports
// are not.
struct Parameter {
  std::string name;         // the paper's symbol, for example "t_gpu" or "B_h2d"
  std::string unit;         // SI: "s" or "B/s"; empty: a ratio
  std::string meaning;      // one line for tables and help
  bool reciprocal = false;  // true: the linear coordinate is 1/value

  // A factor about 1 on times of others; no time is linear in it and them together.
  bool is_ratio() const { return unit.empty(); }

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// Value in linear coordinates, and back (the map is its own inverse).
inline double linear_coordinate(const Parameter& parameter, double value) {
  return parameter.reciprocal ? 1.0 / value : value;
}

}  // namespace gpucast::model

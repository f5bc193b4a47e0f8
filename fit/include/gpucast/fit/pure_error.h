// Scatter between repetitions of a cell: noise that no model can explain.
//
// Disturbed samples are weighted down by their distance from their own cell's centre, never from a
// fit, which is what pure error is held against.
#pragma once

#include <cstddef>
#include <vector>

#include "gpucast/fit/observations.h"

namespace gpucast::fit {

// Robust mean of a cell's log times.
struct CellCenter {
  std::size_t cell = 0;
  double value = 0;
  double weight = 0;  // effective number of samples, greater than 1
};

struct PureError {
  double sigma = 0;                 // relative; NaN without repetitions
  double freedom = 0;               // samples minus cells, by weight
  std::vector<CellCenter> centers;  // of the group's cells with repetitions

  bool known() const { return freedom > 0; }
};

// Pure error of the cells of one group (group(cell)).
PureError pure_error(const Observations& observations, std::size_t of_group);

}  // namespace gpucast::fit

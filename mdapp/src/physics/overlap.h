// Two particles so close that the potential no longer holds.
#pragma once

#include <stdexcept>
#include <string>

#include "physics/system.h"

namespace gpucast::mdapp {

// The run cannot go on; the message names the pair.
class Overlap : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ClosestPair {
  int i = -1;
  int j = -1;           // -1 where there are fewer than two particles with finite positions
  double distance = 0;  // angstrom
};

// Found by sorting along x and looking no further than the best so far.
ClosestPair closest_pair(const System& system);

// One line: which pair, of what ions, how close. Particles are counted from 1, as in XYZ files.
std::string describe_overlap(const System& system);

}  // namespace gpucast::mdapp

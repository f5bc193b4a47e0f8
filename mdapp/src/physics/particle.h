// The data that host and devices exchange, in the sizes that the paper counts.
#pragma once

#include <cstdint>

namespace gpucast::mdapp {

// 16 bytes to every device per step.
struct alignas(16) Position {
  float x, y, z;  // lambda (physics/pair.h), from the centre of the box
  float type;     // 0 cation, 1 anion
};

// 12 bytes back per particle and step.
struct Force {
  float x, y, z;  // eV/angstrom
};

// Used only when energies are requested.
struct PairSums {
  float energy;  // half of the particle's pair energies, eV
  float virial;  // its part of the sum of r . F over pairs, eV: only the sum of all has a meaning
};

static_assert(sizeof(Position) == 16 && sizeof(Force) == 12 && sizeof(PairSums) == 8);

// A device's contiguous slice of the particles.
struct Slice {
  int first = 0;
  int count = 0;
};

// All slices have ceil(n / parts) particles except the last ones, which have fewer or none, so that
// the slices of all devices together are the whole array.
inline Slice slice_of(int n, int parts, int part) {
  const int most = (n + parts - 1) / parts;
  const auto first = static_cast<std::int64_t>(most) * part;
  if (first >= n) return {n, 0};
  const int start = static_cast<int>(first);
  return {start, most < n - start ? most : n - start};
}

}  // namespace gpucast::mdapp

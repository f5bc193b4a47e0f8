// What lies around the particles.
#pragma once

#include <cmath>
#include <string_view>

namespace gpucast::mdapp {

enum class BoundaryKind {
  open,           // walls that reverse velocities; every pair interacts directly
  dsf,            // periodic; damped shifted force, cut off at half the side or less
  minimum_image,  // periodic; nearest image, no cut-off: a benchmark, wrong for a melt
};

// Positions run from -side/2 to side/2 in each direction.
struct Boundary {
  BoundaryKind kind = BoundaryKind::open;
  double side = 0;    // angstrom
  double cutoff = 0;  // angstrom; dsf only
  double alpha = 0;   // 1/angstrom, damping of the Coulomb force; dsf only
};

// A coordinate, or a distance along one, brought to within half a side of 0.
inline double nearest_image(double x, double side) { return x - side * std::rint(x / side); }

inline bool periodic(BoundaryKind kind) { return kind != BoundaryKind::open; }

inline std::string_view name(BoundaryKind kind) {
  switch (kind) {
    case BoundaryKind::open:
      return "open";
    case BoundaryKind::dsf:
      return "dsf";
    case BoundaryKind::minimum_image:
      return "minimum-image";
  }
  return "";
}

}  // namespace gpucast::mdapp

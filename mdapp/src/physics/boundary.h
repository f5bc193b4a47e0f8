// The boundary conditions.
#pragma once

#include <cmath>

#include "gpucast/schema/words.h"

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

// A coordinate or distance, shifted into half a side of 0.
inline double nearest_image(double x, double side) { return x - side * std::rint(x / side); }

inline bool periodic(BoundaryKind kind) { return kind != BoundaryKind::open; }

// Calls body.template operator()<kind, flag>() for the given values.
template <class Body>
void dispatch(BoundaryKind kind, bool flag, Body body) {
  const auto by_flag = [&]<BoundaryKind K> {
    if (flag)
      body.template operator()<K, true>();
    else
      body.template operator()<K, false>();
  };
  switch (kind) {
    case BoundaryKind::open:
      return by_flag.template operator()<BoundaryKind::open>();
    case BoundaryKind::dsf:
      return by_flag.template operator()<BoundaryKind::dsf>();
    case BoundaryKind::minimum_image:
      return by_flag.template operator()<BoundaryKind::minimum_image>();
  }
}

}  // namespace gpucast::mdapp

namespace gpucast::schema {

template <>
inline constexpr auto words<mdapp::BoundaryKind> =
    in_order<mdapp::BoundaryKind>("open", "dsf", "minimum-image");

}  // namespace gpucast::schema

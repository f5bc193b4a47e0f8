// The particles on the host, in double precision.
#pragma once

#include <cstddef>
#include <vector>

#include "physics/boundary.h"
#include "physics/salt.h"

namespace gpucast::mdapp {

// Particles are kept sorted by type, cations first; `origin[k]` is where particle k stood in the
// order of the start configuration, which outputs go by.
struct System {
  Salt salt;
  Boundary boundary;
  int cations = 0;
  std::vector<double> r{};  // x0 y0 z0 x1 ..., angstrom, from the centre of the box
  std::vector<double> v{};  // the same order, angstrom a time_unit
  std::vector<int> origin{};

  // Where particles stand here, in the order of the start configuration.
  std::vector<std::size_t> places() const {
    std::vector<std::size_t> result(origin.size());
    for (std::size_t k = 0; k < result.size(); ++k)
      result[static_cast<std::size_t>(origin[k])] = k;
    return result;
  }
  int n() const { return static_cast<int>(origin.size()); }
  int type(int k) const { return k < cations ? 0 : 1; }
  double mass(int k) const { return salt.mass[static_cast<std::size_t>(type(k))]; }
};

// Degrees of freedom of the motion: the centre of mass, which is at rest, does not count.
inline int degrees_of_freedom(const System& system) {
  return system.n() > 1 ? 3 * system.n() - 3 : 3;
}

}  // namespace gpucast::mdapp

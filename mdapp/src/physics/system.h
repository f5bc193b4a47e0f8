// The particles on the host, in double precision, and their start configurations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "physics/boundary.h"
#include "physics/salt.h"

namespace gpucast::mdapp {

// Particles are sorted by type, cations first; `origin[k]` is the position of particle k in the
// order of the start configuration, which outputs use.
struct System {
  Salt salt;
  Boundary boundary;
  int cations = 0;
  std::vector<double> r{};  // x0 y0 z0 x1 ..., angstrom, from the centre of the box
  std::vector<double> v{};  // the same order, angstrom a time_unit
  std::vector<int> origin{};

  // The index of each particle here, in the order of the start configuration.
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

// The requested boundary; sides and cut-offs follow from n.
struct Surroundings {
  BoundaryKind kind = BoundaryKind::open;
  double cutoff = 0;   // m, dsf only; 0: half the side
  double alpha = 2e9;  // 1/m, dsf only
};

// Side of the box for n ions on a lattice, angstrom.
double box_side(const Salt& salt, int n, BoundaryKind kind);

// Throws std::invalid_argument if the cut-off is longer than half the side (angstrom).
Boundary boundary_of(double side, const Surroundings& around);

// Ions in rock-salt order at the salt's lattice constant, at rest. The lattice is a cube with an
// even number of sites per side, 8 m^3 in all; if n is another number, the last sites of the next
// larger cube stay empty, and at most one ion has no partner. Open: the box is five times as wide
// as the lattice, as in Claret. Periodic: the box is the lattice.
//
// Throws std::invalid_argument if n < 1 or the cut-off is longer than half the side.
System rock_salt(const Salt& salt, int n, const Surroundings& around = {});

// Particles from other sources, x y z each in angstrom, type 0 or 1, in any order.
System from_positions(const Salt& salt, const Boundary& boundary, const std::vector<double>& r,
                      const std::vector<int>& type);

// Maxwell-Boltzmann velocities at `temperature` (K), without net momentum, scaled to it exactly.
// The same on every machine for one seed.
void set_velocities(System& system, double temperature, std::uint64_t seed);

// Moves each particle by up to `most` (angstrom) in each direction at random; in a periodic box it
// stays inside. The same on every machine for one seed.
void displace(System& system, double most, std::uint64_t seed);

}  // namespace gpucast::mdapp

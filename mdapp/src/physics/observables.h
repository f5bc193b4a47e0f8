// Energy, temperature, pressure and momentum of a configuration.
#pragma once

#include <array>
#include <span>
#include <stdexcept>
#include <string>

#include "physics/particle.h"
#include "physics/system.h"

namespace gpucast::mdapp {

// Sums over all pairs, each pair once, and the self energies that go with the boundary.
struct Potential {
  double energy = 0;  // eV
  double virial = 0;  // sum of r . F over pairs, eV
};

double kinetic_energy(const System& system);  // eV

// K; the 3 degrees of freedom of the centre of mass, which is at rest, do not count.
double temperature(const System& system);

// u angstrom a time_unit
std::array<double, 3> momentum(const System& system);

// Virial pressure (2 K + W) / (3 V), Pa. V is the box's volume: in an open box, the pressure that
// the walls will feel once the particles fill it.
double pressure(const System& system, const Potential& potential);

// The potential with the particles' own energies under dsf added to the sums over pairs.
Potential with_self_energy(const System& system, const Potential& pairs);

// Adds the devices' results for each particle, including self energies.
Potential sum_of(const System& system, std::span<const PairSums> particles);

// Two particles are so close that the potential is no longer valid. The run cannot continue; the
// message names the pair.
class Overlap : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ClosestPair {
  int i = -1;
  int j = -1;           // -1 if there are fewer than two particles with finite positions
  double distance = 0;  // angstrom
};

// Sorts along x and compares no further than the best distance so far.
ClosestPair closest_pair(const System& system);

// One line: the pair, its ions, and their distance. Particles are counted from 1, as in XYZ files.
std::string describe_overlap(const System& system);

}  // namespace gpucast::mdapp

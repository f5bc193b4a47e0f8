#include "physics/system.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "physics/observables.h"

namespace gpucast::mdapp {
namespace {

// Sites a side of the smallest even cube that holds n.
int sites_a_side(int n) {
  int sites = 2;
  while (static_cast<double>(sites) * sites * sites < n)
    sites += 2;
  return sites;
}

// Uniform in (0, 1], 53 bits; std::uniform_real_distribution is not the same everywhere.
double uniform(std::mt19937_64& engine) {
  return (static_cast<double>(engine() >> 11U) + 1) * 0x1p-53;
}

}  // namespace

double box_side(const Salt& salt, int n, BoundaryKind kind) {
  constexpr double room = 5;  // Claret's box over its lattice
  const double lattice_side = salt.lattice_constant / 2 * sites_a_side(n);
  return kind == BoundaryKind::open ? room * lattice_side : lattice_side;
}

Boundary boundary_of(double side, const Surroundings& around) {
  Boundary boundary{.kind = around.kind, .side = side};
  if (around.kind == BoundaryKind::dsf) {
    boundary.cutoff = around.cutoff > 0 ? around.cutoff / angstrom : boundary.side / 2;
    boundary.alpha = around.alpha * angstrom;
    if (boundary.cutoff > boundary.side / 2 * (1 + 1e-12)) {
      throw std::invalid_argument("the cut-off of " + std::to_string(boundary.cutoff) +
                                  " angstrom is longer than half the box's side, " +
                                  std::to_string(boundary.side / 2) + " angstrom");
    }
  }
  return boundary;
}

System rock_salt(const Salt& salt, int n, const Surroundings& around) {
  if (n < 1) throw std::invalid_argument("n must be at least 1");
  const int sites = sites_a_side(n);
  const double spacing = salt.lattice_constant / 2;
  const Boundary boundary = boundary_of(box_side(salt, n, around.kind), around);
  const double corner = -0.5 * spacing * (sites - 1);
  std::vector<double> r;
  std::vector<int> type;
  r.reserve(3 * static_cast<std::size_t>(n));
  type.reserve(static_cast<std::size_t>(n));
  for (int site = 0; site < n; ++site) {
    const int x = site % sites;
    const int y = site / sites % sites;
    const int z = site / sites / sites;
    r.insert(r.end(), {corner + spacing * x, corner + spacing * y, corner + spacing * z});
    type.push_back((x + y + z) % 2);
  }
  return from_positions(salt, boundary, r, type);
}

System from_positions(const Salt& salt, const Boundary& boundary, const std::vector<double>& r,
                      const std::vector<int>& type) {
  System system{.salt = salt, .boundary = boundary};
  const auto n = static_cast<int>(type.size());
  for (int wanted = 0; wanted < 2; ++wanted) {
    for (int k = 0; k < n; ++k)
      if (type[static_cast<std::size_t>(k)] == wanted) system.origin.push_back(k);
    if (wanted == 0) system.cations = static_cast<int>(system.origin.size());
  }
  system.r.reserve(r.size());
  for (const int k : system.origin) {
    const auto first = r.begin() + 3 * static_cast<std::ptrdiff_t>(k);
    system.r.insert(system.r.end(), first, first + 3);
  }
  system.v.assign(r.size(), 0.0);
  return system;
}

void set_velocities(System& system, double temperature, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const double thermal = system.salt.constants.boltzmann * temperature;
  // In the order of the start configuration, so that sorting does not change a particle's velocity.
  std::vector<double> drawn(system.v.size());
  for (double& d : drawn) {
    const double radius = std::sqrt(-2 * std::log(uniform(engine)));
    d = radius * std::cos(2 * std::numbers::pi * uniform(engine));
  }
  double momentum[3] = {};
  double total_mass = 0;
  for (int k = 0; k < system.n(); ++k) {
    const double mass = system.mass(k);
    total_mass += mass;
    for (std::size_t a = 0; a < 3; ++a) {
      double& v = system.v[3 * static_cast<std::size_t>(k) + a];
      v = drawn[3 * static_cast<std::size_t>(system.origin[static_cast<std::size_t>(k)]) + a] *
          std::sqrt(thermal / mass);
      momentum[a] += mass * v;
    }
  }
  for (std::size_t k = 0; k < system.v.size(); ++k)
    system.v[k] -= momentum[k % 3] / total_mass;
  const double drawn_temperature = mdapp::temperature(system);
  if (drawn_temperature > 0) {
    const double scale = std::sqrt(temperature / drawn_temperature);
    for (double& v : system.v)
      v *= scale;
  }
}

void displace(System& system, double most, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> drawn(system.r.size());
  for (double& d : drawn)
    d = most * (2 * uniform(engine) - 1);
  const double side = system.boundary.side;
  for (std::size_t k = 0; k < system.r.size(); ++k) {
    double& r = system.r[k];
    r += drawn[3 * static_cast<std::size_t>(system.origin[k / 3]) + k % 3];
    if (periodic(system.boundary.kind)) r = nearest_image(r, side);
  }
}

}  // namespace gpucast::mdapp

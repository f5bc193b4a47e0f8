#include "physics/salt.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace gpucast::mdapp {
namespace {

// The published units: repulsion in joules, dispersion in 1e-79 J m^6 and 1e-99 J m^8.
struct Published {
  double pol;    // Pauling's factor 1 + z_i/n_i + z_j/n_j
  double sigma;  // angstrom
  double c;
  double d;
};

constexpr double repulsion = 0.338e-19;  // J

TosiFumi tosi_fumi(const Published& p, double charge_product, const Constants& k) {
  return {.A = repulsion * k.joule * p.pol,
          .sigma = p.sigma,
          .C = p.c * 1e-79 * k.joule / std::pow(angstrom, 6),
          .D = p.d * 1e-99 * k.joule / std::pow(angstrom, 8),
          .charge = charge_product * k.coulomb};
}

std::array<std::array<TosiFumi, 2>, 2> pairs(const Published& cations, const Published& unlike,
                                             const Published& anions, const Constants& k) {
  return {{{tosi_fumi(cations, 1, k), tosi_fumi(unlike, -1, k)},
           {tosi_fumi(unlike, -1, k), tosi_fumi(anions, 1, k)}}};
}

// Side of the cubic cell of 4 formula units at a density of `offset` + `slope` T, in g/cm^3.
double lattice_constant(double formula_mass, double offset, double slope, double temperature) {
  const double density = (offset + slope * temperature) * 1e3;  // kg/m^3
  return std::cbrt(4 * formula_mass * atomic_mass_unit / density) / angstrom;
}

Constants constants(ConstantSet set) {
  if (set == ConstantSet::claret)
    return {.coulomb = 14.39, .joule = 1 / 1.60219e-19, .boltzmann = 8.617080363e-5};
  return {.coulomb = 14.3996454784255,
          .joule = 1 / elementary_charge,
          .boltzmann = 8.617333262145179e-5};
}

}  // namespace

Salt nacl(ConstantSet set) {
  const Constants k = constants(set);
  return {.name = "NaCl",
          .symbol = {"Na", "Cl"},
          .mass = {22.989768, 35.4527},
          .rho = 0.317,
          // The melt's density (2.1393 - 0.543e-3 T/K g/cm^3), even at 300 K, as in Claret.
          .lattice_constant = 5.8128309747,
          .constants = k,
          .pair = pairs({1.25, 2.340, 1.68, 0.8}, {1.00, 2.755, 11.2, 13.9},
                        {0.75, 3.170, 116, 233}, k)};
}

Salt kcl(ConstantSet set) {
  const Constants k = constants(set);
  const double potassium = 39.0983;
  const double chlorine = 35.4527;
  const double sigma_k = 1.463;
  const double sigma_cl = 1.585;
  return {.name = "KCl",
          .symbol = {"K", "Cl"},
          .mass = {potassium, chlorine},
          .rho = 0.337,
          // Molten KCl: 2.1359 - 0.5831e-3 T/K g/cm^3 (Janz, NSRDS-NBS 15, 1968), taken at 300 K
          // in the way of NaCl.
          .lattice_constant = lattice_constant(potassium + chlorine, 2.1359, -0.5831e-3, 300),
          .constants = k,
          .pair = pairs({1.25, 2 * sigma_k, 24.3, 24}, {1.00, sigma_k + sigma_cl, 48, 73},
                        {0.75, 2 * sigma_cl, 124.5, 250}, k)};
}

Salt salt(std::string_view name, ConstantSet set) {
  if (name == "NaCl") return nacl(set);
  if (name == "KCl") return kcl(set);
  throw std::invalid_argument("unknown salt \"" + std::string(name) + "\": NaCl or KCl");
}

}  // namespace gpucast::mdapp

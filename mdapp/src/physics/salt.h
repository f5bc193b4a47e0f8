// Molten salts: the Tosi-Fumi potential's parameters, in two sets of physical constants.
//
// Fumi & Tosi, J. Phys. Chem. Solids 25 (1964) 31 and 45; the numbers are those of the Claret
// program, whose dispersion coefficients are rounded to three digits.
#pragma once

#include <array>
#include <string_view>

namespace gpucast::mdapp {

// codata: CODATA 2018. claret: the rounded constants of the Claret program, to reproduce its runs.
enum class ConstantSet { codata, claret };

struct Constants {
  double coulomb;    // e^2 / (4 pi eps0), eV angstrom
  double joule;      // eV a joule
  double boltzmann;  // eV/K
};

Constants constants(ConstantSet set);

// One pair of ion types: u(r) = A exp((sigma - r)/rho) - C/r^6 - D/r^8 + charge/r.
struct TosiFumi {
  double A;       // eV
  double sigma;   // angstrom
  double C;       // eV angstrom^6
  double D;       // eV angstrom^8
  double charge;  // z_i z_j e^2 / (4 pi eps0), eV angstrom
};

// Ion type 0 is the cation, 1 the anion.
struct Salt {
  std::string_view name;
  std::array<std::string_view, 2> symbol;
  std::array<double, 2> mass;  // u
  double rho;                  // angstrom
  double lattice_constant;     // angstrom, of the rock-salt start
  Constants constants;
  std::array<std::array<TosiFumi, 2>, 2> pair;
};

Salt nacl(ConstantSet set = ConstantSet::codata);
Salt kcl(ConstantSet set = ConstantSet::codata);

// By name, "NaCl" or "KCl"; std::invalid_argument says what is allowed.
Salt salt(std::string_view name, ConstantSet set = ConstantSet::codata);

}  // namespace gpucast::mdapp

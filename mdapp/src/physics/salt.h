// Molten salts: the Tosi-Fumi potential's parameters, in two sets of physical constants.
//
// Fumi & Tosi, J. Phys. Chem. Solids 25 (1964) 31 and 45; the numbers are those of the Claret
// program, whose dispersion coefficients are rounded to three digits.
#pragma once

#include <array>
#include <string_view>

namespace gpucast::mdapp {

// The units of forces and motion, and their SI values.
//
// Lengths in angstrom, energies in eV, masses in u. The unit of time follows from them,
// angstrom sqrt(u / eV), so that a force in eV/angstrom divided by a mass in u is an acceleration.
// Everything a user gives or reads is SI or names its unit.
inline constexpr double angstrom = 1e-10;                      // m
inline constexpr double elementary_charge = 1.602176634e-19;   // C, and J a eV (exact, SI 2019)
inline constexpr double atomic_mass_unit = 1.66053906660e-27;  // kg (CODATA 2018)
inline constexpr double time_unit = 1.0180505710759415e-14;    // s: angstrom sqrt(u / eV)
inline constexpr double bar_per_eV_angstrom3 = 1.602176634e6;  // bar a eV/angstrom^3
inline constexpr double log2_e = 1.4426950408889634;
inline constexpr double two_over_sqrt_pi = 1.1283791670955126;

// codata: CODATA 2018. claret: the rounded constants of the Claret program, to reproduce its runs.
enum class ConstantSet { codata, claret };

struct Constants {
  double coulomb;    // e^2 / (4 pi eps0), eV angstrom
  double joule;      // eV a joule
  double boltzmann;  // eV/K
};

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

// By name, "NaCl" or "KCl"; std::invalid_argument lists the choices.
Salt salt(std::string_view name, ConstantSet set = ConstantSet::codata);

}  // namespace gpucast::mdapp

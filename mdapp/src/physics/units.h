// The units that forces and motion are computed in, and what they are in SI.
//
// Lengths in angstrom, energies in eV, masses in u. The unit of time follows from them,
// angstrom sqrt(u / eV), so that a force in eV/angstrom divided by a mass in u is an acceleration.
// Everything a user gives or reads is SI or names its unit.
#pragma once

namespace gpucast::mdapp {

inline constexpr double angstrom = 1e-10;                      // m
inline constexpr double elementary_charge = 1.602176634e-19;   // C, and J a eV (exact, SI 2019)
inline constexpr double atomic_mass_unit = 1.66053906660e-27;  // kg (CODATA 2018)
inline constexpr double time_unit = 1.0180505710759415e-14;    // s: angstrom sqrt(u / eV)
inline constexpr double bar_per_eV_angstrom3 = 1.602176634e6;  // bar a eV/angstrom^3
inline constexpr double log2_e = 1.4426950408889634;
inline constexpr double two_over_sqrt_pi = 1.1283791670955126;

}  // namespace gpucast::mdapp

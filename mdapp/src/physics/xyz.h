// Extended XYZ files, which OVITO, VMD and ASE open.
//
// A frame is the number of particles, a line of key=value pairs, and a line for each particle:
//
//     8
//     Lattice="29.06 0 0 0 29.06 0 0 0 29.06" Origin="-14.53 -14.53 -14.53" pbc="F F F"
//       Properties=species:S:1:pos:R:3:velo:R:3 Time=2 Time_unit=fs velo_unit=angstrom/fs   (1
//       line)
//     Na -1.45 -1.45 -1.45 0.0012 -0.0034 0.0007
//
// Positions are written so that reading them gives the same bits.
#pragma once

#include <string>

#include "physics/system.h"

namespace gpucast::mdapp {

struct XyzStart {
  System system;
  bool has_velocities = false;
};

// Reads a file of one frame: particles of `salt`'s ions with the boundary `around`. The box is the
// file's Lattice, a cube, and without Lattice (open boundary only) the box of a lattice with this
// number of ions. Positions are relative to the box's centre: Origin + side/2, with an Origin of 0
// if there is only a Lattice; particles of a periodic box are brought inside. Velocities are read
// from `velo`, in angstrom/fs. Throws InputError, which names file, line and field.
XyzStart read_xyz(const std::string& path, const Salt& salt, const Surroundings& around);
// The same from text; `name` replaces the file's name.
XyzStart parse_xyz(const std::string& name, const std::string& text, const Salt& salt,
                   const Surroundings& around);

// One frame in the order of the start configuration; `seconds` since the start.
std::string xyz_frame(const System& system, double seconds);

}  // namespace gpucast::mdapp

// What is simulated: options that the commands share, and what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "gpucast/support/command_line.h"
#include "physics/integrator.h"
#include "physics/salt.h"
#include "physics/start.h"
#include "physics/system.h"

namespace gpucast::mdapp {

struct Physics {
  Salt salt = nacl();
  Surroundings around{};
  IntegratorOptions integrator{};
  std::uint64_t seed = 1;
  bool temperature_given = false;  // by the user
};

class PhysicsOptions {
 public:
  void declare_potential(support::Options command);  // salt, constants, boundary
  void declare_motion(support::Options command);     // integrator, time step, temperature, seed
  void declare_seed(support::Options command);

  // Throws InputError.
  Physics read() const;
  const std::string& constants() const { return constants_; }

 private:
  std::string salt_ = "NaCl";
  std::string constants_ = "codata";
  std::string boundary_ = "open";
  std::optional<double> cutoff_;
  std::optional<double> alpha_;
  std::string integrator_ = "verlet";
  IntegratorOptions motion_;
  std::optional<support::Option> temperature_;
  std::string seed_ = "1";
};

// One line, where the boundary's forces are wrong for a melt.
void warn(const Physics& physics, std::ostream& err);

// The lattice of n ions with thermal velocities.
System start_of(const Physics& physics, int n);

}  // namespace gpucast::mdapp

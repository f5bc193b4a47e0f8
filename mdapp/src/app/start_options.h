// Where particles start: options of commands that work on one configuration.
#pragma once

#include <string>

#include "app/physics_options.h"
#include "gpucast/support/command_line.h"

namespace gpucast::mdapp {

class StartOptions {
 public:
  void declare(support::Options command);

  // With velocities: those of the file, or drawn. Throws InputError.
  System read(const Physics& physics) const;

 private:
  System lattice(const Physics& physics) const;

  std::string n_;
  std::string start_;
};

}  // namespace gpucast::mdapp

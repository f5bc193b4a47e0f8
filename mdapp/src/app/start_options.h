// Where particles start: options of commands that work on one configuration.
#pragma once

#include <string>

#include "app/physics_options.h"

namespace CLI {
class App;
}

namespace gpucast::mdapp {

class StartOptions {
 public:
  void declare(CLI::App& command);

  // With velocities: those of the file, or drawn. Throws InputError.
  System read(const Physics& physics) const;

 private:
  System lattice(const Physics& physics) const;

  std::string n_;
  std::string start_;
};

}  // namespace gpucast::mdapp

// Where particles start, and what computes them: options of commands that work on one
// configuration.
#pragma once

#include <string>

#include "app/command.h"
#include "app/grid_options.h"
#include "app/physics_options.h"
#include "gpucast/devices/engine_options.h"
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

// Throws InputError for options of devices, and for several processes: double precision computes on
// this host's threads.
void require_no_devices(const devices::EngineOptions& engine, const GridOptions& schedule,
                        const Context& context);

}  // namespace gpucast::mdapp

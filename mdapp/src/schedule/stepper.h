// Steps of a simulation, wherever particles are integrated: the seam between schedules and what
// runs them (measuring, simulating, checking).
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "physics/integrator.h"
#include "physics/observables.h"
#include "physics/system.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

class Stepper {
 public:
  Stepper() = default;
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;
  virtual ~Stepper() = default;

  // Makes `count` steps, undisturbed, and returns the seconds that each took. Throws Overlap and
  // DeviceError.
  virtual std::vector<double> steps(int count) = 0;
  // Makes one step with its phases timed.
  virtual Phases step_in_phases() = 0;
  // Where the particles are now, on the host; with mpi, all of them on every process.
  virtual const System& system() = 0;
  // Energies of where the particles are now. Changes nothing.
  virtual Potential potential() = 0;
  // Bytes moved since the start, by device.
  virtual std::vector<Traffic> traffic() const = 0;
};

// `engine` must outlive the stepper. Computes the forces at the start.
std::unique_ptr<Stepper> make_stepper(Engine& engine, System system,
                                      const IntegratorOptions& integrator,
                                      const ScheduleOptions& options);

// What make_stepper makes of the schedule in which the GPUs integrate.
std::unique_ptr<Stepper> allgather_stepper(Engine& engine, System system,
                                           const IntegratorOptions& integrator,
                                           const ScheduleOptions& options);

}  // namespace gpucast::mdapp

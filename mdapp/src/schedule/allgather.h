// Steps in which the GPUs integrate: positions and velocities stay there in double precision, and
// each GPU's rounded positions go to all the others.
#pragma once

#include <memory>

#include "schedule/stepper.h"

namespace gpucast::mdapp {

std::unique_ptr<Stepper> allgather_stepper(Engine& engine, System system,
                                           const IntegratorOptions& integrator,
                                           const ScheduleOptions& options);

}  // namespace gpucast::mdapp

// Steps in which the host integrates.
#pragma once

#include <memory>

#include "schedule/stepper.h"

namespace gpucast::mdapp {

std::unique_ptr<Stepper> host_stepper(System system, const IntegratorOptions& integrator,
                                      std::unique_ptr<ForceSchedule> schedule);

}  // namespace gpucast::mdapp

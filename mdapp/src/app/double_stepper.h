// Steps in double precision throughout, on host threads: what float runs are held against.
#pragma once

#include <memory>

#include "schedule/stepper.h"

namespace gpucast::mdapp {

std::unique_ptr<Stepper> double_stepper(System system, const IntegratorOptions& integrator,
                                        int threads);

}  // namespace gpucast::mdapp

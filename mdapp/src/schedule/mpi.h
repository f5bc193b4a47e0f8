// A process a GPU: each integrates its own slice on its host, and positions go round by
// MPI_Allgatherv.
#pragma once

#include <memory>

#include "schedule/schedule.h"

namespace gpucast::mdapp {

// The first `options.gpus` processes take part, each with the device of its rank on its host; on
// the others the schedule does nothing. All processes must call it (join_processes first).
// std::invalid_argument in a program that was built without MPI.
std::unique_ptr<ForceSchedule> mpi_schedule(Engine& engine, const System& system,
                                            const ScheduleOptions& options);

}  // namespace gpucast::mdapp

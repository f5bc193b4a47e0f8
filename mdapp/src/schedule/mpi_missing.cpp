// In place of mpi.cpp where there is no MPI to build with.
#include "gpucast/support/errors.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

bool started_by_mpi_launcher() { return false; }

std::unique_ptr<Processes> join_processes() {
  throw support::InputError("this program was built without MPI; schedule mpi needs it");
}

std::unique_ptr<Star> mpi_schedule(Engine& /*engine*/, const System& /*system*/,
                                   const ScheduleOptions& /*options*/) {
  join_processes();
  return nullptr;
}

}  // namespace gpucast::mdapp

// In place of mpi.cpp where there is no MPI to build with.
#include <stdexcept>

#include "schedule/processes.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {
namespace {

constexpr const char* missing = "this program was built without MPI; schedule mpi needs it";

}  // namespace

bool started_by_mpi_launcher() { return false; }

std::unique_ptr<Processes> join_processes() { throw std::invalid_argument(missing); }

std::unique_ptr<ForceSchedule> mpi_schedule(Engine& /*engine*/, const System& /*system*/,
                                            const ScheduleOptions& /*options*/) {
  throw std::invalid_argument(missing);
}

}  // namespace gpucast::mdapp

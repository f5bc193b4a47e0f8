#include "schedule/schedule.h"

#include "physics/pair.h"

namespace gpucast::mdapp {

std::string_view name(ScheduleName schedule) {
  switch (schedule) {
    case ScheduleName::star_serial:
      return "star-serial";
    case ScheduleName::star_async:
      return "star-async";
    case ScheduleName::allgather:
      return "allgather";
    case ScheduleName::mpi:
      return "mpi";
  }
  return "";
}

Workload workload(const System& system, const ScheduleOptions& options, Share share) {
  return {.n = system.n(),
          .cations = system.cations,
          .share = share,
          .devices = options.gpus,
          .field = force_field<float>(system.salt, system.boundary),
          .boundary = system.boundary.kind,
          .kernel = options.kernel,
          .copies = options.name == ScheduleName::star_serial ? Copies::blocking : Copies::queued};
}

}  // namespace gpucast::mdapp

#include "schedule/schedule.h"

#include "physics/pair.h"

namespace gpucast::mdapp {

Workload workload(const System& system, const ScheduleOptions& options, Slice slice) {
  return {.n = system.n(),
          .cations = system.cations,
          .slice = slice,
          .devices = options.gpus,
          .field = force_field<float>(system.salt, system.boundary),
          .boundary = system.boundary.kind,
          .kernel = options.kernel,
          .copies = options.name == Schedule::star_serial ? Copies::blocking : Copies::queued};
}

}  // namespace gpucast::mdapp

#include "schedule/stepper.h"

#include <stdexcept>
#include <utility>

#include "schedule/allgather.h"
#include "schedule/host_stepper.h"
#include "schedule/mpi.h"

namespace gpucast::mdapp {

std::unique_ptr<Stepper> make_stepper(Engine& engine, System system,
                                      const IntegratorOptions& integrator,
                                      const ScheduleOptions& schedule) {
  switch (schedule.name) {
    case Schedule::star_serial:
      if (schedule.graph) {
        throw std::invalid_argument("star-serial copies block and cannot be recorded as a graph");
      }
      [[fallthrough]];
    case Schedule::star_async: {
      auto forces = star(engine, system, schedule);
      return host_stepper(std::move(system), integrator, std::move(forces));
    }
    case Schedule::allgather:
      return allgather_stepper(engine, std::move(system), integrator, schedule);
    case Schedule::mpi: {
      auto forces = mpi_schedule(engine, system, schedule);
      return host_stepper(std::move(system), integrator, std::move(forces));
    }
  }
  throw std::invalid_argument("unknown schedule");
}

}  // namespace gpucast::mdapp

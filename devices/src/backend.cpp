#include "gpucast/devices/backend.h"

#include "gpucast/records/this_machine.h"
#include "gpucast/support/context.h"

namespace gpucast::devices {

records::Machine machine_record(const Backend& backend, const support::Context& context,
                                const std::string& id) {
  auto machine = records::this_machine({.name = context.program, .version = support::version},
                                       context.command_line, id);
  if (!backend.driver().empty()) machine.driver = backend.driver();
  if (!backend.runtime().empty()) machine.runtime = backend.runtime();
  machine.transport = backend.transport();
  if (backend.path() != schema::Path::host) {  // a host's devices are its cores, not GPUs
    machine.gpus = backend.devices();
    machine.topology = backend.topology();
  }
  return machine;
}

}  // namespace gpucast::devices

#include "app/machine_record.h"

#include "app/context.h"
#include "gpucast/records/this_machine.h"

namespace gpucast::mdapp {
records::Machine machine_record(const Engine& engine,
                                const std::vector<std::string>& command_line) {
  auto machine = records::this_machine({.name = program, .version = GPUCAST_VERSION}, 0, nullptr);
  machine.command = command_line;
  if (!engine.driver().empty()) machine.driver = engine.driver();
  if (!engine.runtime().empty()) machine.runtime = engine.runtime();
  if (engine.path() != schema::Path::host) {  // a host's devices are its cores, not GPUs
    machine.gpus = engine.devices();
  }
  return machine;
}

}  // namespace gpucast::mdapp

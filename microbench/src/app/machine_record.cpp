#include "app/machine_record.h"

#include <nlohmann/json.hpp>

#include "gpucast/records/this_machine.h"

namespace gpucast::microbench {

records::Machine machine_record(const Engine& engine, const Context& context,
                                const std::string& id) {
  auto machine = records::this_machine({.name = program, .version = GPUCAST_VERSION}, 0, nullptr);
  if (!id.empty()) machine.id = id;
  machine.command = context.command_line;
  if (!engine.driver().empty()) machine.driver = engine.driver();
  if (!engine.runtime().empty()) machine.runtime = engine.runtime();
  if (engine.path() != schema::Path::host) {  // a host's devices are its cores, not GPUs
    machine.gpus = engine.devices();
    machine.topology = engine.topology();
  }
  return machine;
}

}  // namespace gpucast::microbench

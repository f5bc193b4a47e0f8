#include "app/machine_record.h"

#include "app/context.h"
#include "gpucast/records/this_machine.h"

namespace gpucast::mdapp {
namespace {

records::Gpu gpu_of(const DeviceInfo& info) {
  return {.name = info.name,
          .sms = info.sms,
          .cores = info.cores,
          .clock_hz = info.clock_hz,
          .memory_bytes = info.memory_bytes,
          .max_threads_per_sm = info.max_threads_per_sm,
          .pci = info.pci};
}

}  // namespace

records::Machine machine_record(const Engine& engine,
                                const std::vector<std::string>& command_line) {
  auto machine = records::this_machine({.name = program, .version = GPUCAST_VERSION}, 0, nullptr);
  machine.command = command_line;
  if (!engine.driver().empty()) machine.driver = engine.driver();
  if (!engine.runtime().empty()) machine.runtime = engine.runtime();
  if (engine.path() != "host") {  // a host's devices are its cores, not GPUs
    machine.gpus.emplace();
    for (const DeviceInfo& info : engine.devices())
      machine.gpus->push_back(gpu_of(info));
  }
  return machine;
}

}  // namespace gpucast::mdapp

// Properties of an engine: this machine's GPUs, or CPU threads in their place.
#pragma once

#include "gpucast/records/records.h"
#include "gpucast/support/context.h"
#include "gpucast/support/interface.h"

namespace gpucast::devices {

class Backend : public support::Interface {
 public:
  virtual schema::Path path() const = 0;  // host or native
  virtual std::vector<records::Gpu> devices() const = 0;
  // Version of the driver; empty if there is none.
  virtual std::string driver() const { return {}; }
  virtual std::string runtime() const { return {}; }
  // The transport of calls to remote GPUs; nothing for local ones.
  virtual std::optional<std::string> transport() const { return std::nullopt; }
  // How the devices are connected: an object, or null.
  virtual nlohmann::ordered_json topology() const { return nullptr; }
};

// Returns the first record of a run of this program on `backend`. `id`: common to runs that belong
// together; empty: this run's own.
inline records::Machine machine_record(const Backend& backend, const support::Context& context,
                                       const std::string& id) {
  auto machine = records::this_machine({.name = context.program, .version = support::version},
                                       context.command_line, id);
  if (!backend.driver().empty()) machine.driver = backend.driver();
  if (!backend.runtime().empty()) machine.runtime = backend.runtime();
  machine.transport = backend.transport();
  if (backend.path() != schema::Path::host) {  // the host's devices are its cores, not GPUs
    machine.gpus = backend.devices();
    machine.topology = backend.topology();
  }
  return machine;
}

}  // namespace gpucast::devices

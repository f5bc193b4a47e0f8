#include "gpucast/devices/engine_options.h"

#include <cstdlib>

#include "gpucast/support/parse_word.h"

namespace gpucast::devices {
namespace {

constexpr int most_host_devices = 1024;
constexpr const char* engines = "auto, host, cuda";

}  // namespace

void EngineOptions::declare(CLI::App* command) {
  declared_ = {command->add_option("--engine", engine_, engines),
               command->add_option("--host-devices", host_devices_,
                                   "devices of the engine host (0: one for each core)")};
}

void EngineOptions::refuse_given(const std::string& why) const {
  for (CLI::Option* option : declared_)
    support::refuse_given(option, why);
}

std::vector<std::string> EngineOptions::arguments() const {
  return {"--engine", engine_, "--host-devices", std::to_string(host_devices_)};
}

bool EngineOptions::wants_gpus() const {
  if (engine_ != "auto" && engine_ != "host" && engine_ != "cuda") {
    support::refuse_word("--engine", engine_, engines);
  }
  if (host_devices_ < 0 || host_devices_ > most_host_devices) {
    throw support::InputError("--host-devices: must be from 0 to " +
                              std::to_string(most_host_devices));
  }
  if (engine_ == "host") return false;
  // A job script's variable that is empty asked for GPUs all the same.
  const char* const servers = std::getenv("GPUCAST_REMOTE");
  if (servers != nullptr && *servers == '\0') {
    throw support::InputError(
        "GPUCAST_REMOTE is set, but empty: name servers (host:port,...), or unset it");
  }
  return true;
}

void EngineOptions::accept_host(const std::string& why_not, const support::Context& context) const {
  if (engine_ == "cuda") throw support::InputError("--engine cuda: " + why_not);
  const char* const servers = std::getenv("GPUCAST_REMOTE");
  if (servers != nullptr) {
    throw support::InputError(std::string("GPUCAST_REMOTE=") + servers + ": " + why_not +
                              " (--engine host computes on this machine's cores)");
  }
  context.err << context.program << ": note: CPU threads stand for GPUs, " << why_not << "\n";
}

}  // namespace gpucast::devices

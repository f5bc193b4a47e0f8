// The engine that a program uses, this machine's GPUs or CPU threads, and the options for it.
#pragma once

#include <cstdlib>

#include "gpucast/support/command_line.h"
#include "gpucast/support/context.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::devices {

class EngineOptions {
 public:
  void declare(CLI::App* command) {
    declared_ = {command->add_option("--engine", engine_, engines),
                 command->add_option("--host-devices", host_devices_,
                                     "devices of the engine host (0: one for each core)")};
  }

  // auto: CUDA if there is a GPU, and otherwise the host, with a line on `context.err` that gives
  // the reason. `host` makes an engine of that many CPU threads (0: one per core); `cuda` one of
  // the GPUs, or returns nothing and the reason. Throws InputError for wrong options and missing
  // devices, also if GPUCAST_REMOTE asks for GPUs that do not exist: it does so even if it is set
  // to an empty text.
  template <class Engine>
  std::unique_ptr<Engine> open(const support::Context& context,
                               std::unique_ptr<Engine> (*host)(int),
                               std::unique_ptr<Engine> (*cuda)(std::string&)) const {
    std::string why_not;
    if (wants_gpus()) {
      if (auto engine = cuda(why_not)) return engine;
      accept_host(why_not, context);
    }
    return host(host_devices_);
  }

  // Throws InputError with `why` after the option's name if the user gave one of these options.
  void refuse_given(const std::string& why) const {
    for (CLI::Option* option : declared_)
      support::refuse_given(option, why);
  }

  // Returns the options with which another run of the program gets the same engine.
  std::vector<std::string> arguments() const {
    return {"--engine", engine_, "--host-devices", std::to_string(host_devices_)};
  }

 private:
  bool wants_gpus() const {
    if (engine_ != "auto" && engine_ != "host" && engine_ != "cuda")
      support::refuse_word("--engine", engine_, engines);
    if (host_devices_ < 0 || host_devices_ > most_host_devices) {
      throw support::InputError("--host-devices: must be from 0 to " +
                                std::to_string(most_host_devices));
    }
    if (engine_ == "host") return false;
    // An empty variable in a job script was meant to name GPUs.
    const char* const servers = std::getenv("GPUCAST_REMOTE");
    if (servers != nullptr && *servers == '\0') {
      throw support::InputError(
          "GPUCAST_REMOTE is set, but empty: name servers (host:port,...), or unset it");
    }
    return true;
  }
  void accept_host(const std::string& why_not, const support::Context& context) const {
    if (engine_ == "cuda") throw support::InputError("--engine cuda: " + why_not);
    const char* const servers = std::getenv("GPUCAST_REMOTE");
    if (servers != nullptr) {
      throw support::InputError(std::string("GPUCAST_REMOTE=") + servers + ": " + why_not +
                                " (--engine host computes on this machine's cores)");
    }
    context.err << context.program << ": note: CPU threads stand for GPUs, " << why_not << "\n";
  }

  static constexpr int most_host_devices = 1024;
  static constexpr const char* engines = "auto, host, cuda";

  std::string engine_ = "auto";
  int host_devices_ = 0;
  std::vector<CLI::Option*> declared_;
};

}  // namespace gpucast::devices

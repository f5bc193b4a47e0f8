// Which engine a program uses, this machine's GPUs or CPU threads: options of its commands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpucast/support/command_line.h"
#include "gpucast/support/context.h"

namespace gpucast::devices {

class EngineOptions {
 public:
  void declare(CLI::App* command);

  // auto: CUDA where there is a GPU, otherwise the host, with a line on `context.err` that says
  // why. `host` makes an engine of that many CPU threads (0: one for each core); `cuda` one of the
  // GPUs, or nothing and the reason. Throws InputError for what is wrong or not there, also where
  // GPUCAST_REMOTE asks for GPUs that are not there: it does once it is set, even to nothing.
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

  // Throws InputError, `why` after the option's name, where the user gave one of these options.
  void refuse_given(const std::string& why) const;

  // By which another run of the program gets the same engine.
  std::vector<std::string> arguments() const;

 private:
  bool wants_gpus() const;
  void accept_host(const std::string& why_not, const support::Context& context) const;

  std::string engine_ = "auto";
  int host_devices_ = 0;
  std::vector<CLI::Option*> declared_;
};

}  // namespace gpucast::devices

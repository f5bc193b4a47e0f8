// Which engine computes: options that the commands share.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "gpucast/support/command_line.h"

namespace gpucast::mdapp {

class EngineOptions {
 public:
  void declare(support::Options command);

  // auto: CUDA where there is a GPU, otherwise the host, with a line that says why. Throws
  // InputError.
  std::unique_ptr<Engine> open(std::ostream& err) const;

  // Throws InputError, `why` after the option's name, where the user gave one of these options.
  void refuse_given(const std::string& why) const;

 private:
  std::string engine_ = "auto";
  int host_devices_ = 0;
  std::vector<support::Option> declared_;
};

}  // namespace gpucast::mdapp

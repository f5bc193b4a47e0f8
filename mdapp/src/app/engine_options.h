// Which engine computes: options that the commands share.
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "engine/engine.h"

namespace CLI {
class App;
}

namespace gpucast::mdapp {

class EngineOptions {
 public:
  void declare(CLI::App& command);

  // auto: CUDA where there is a GPU, otherwise the host, with a line that says why. Throws
  // InputError.
  std::unique_ptr<Engine> open(std::ostream& err) const;

 private:
  std::string engine_ = "auto";
  int host_devices_ = 0;
};

}  // namespace gpucast::mdapp

// Which engine, and which of its devices: options of every command.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "gpucast/support/command_line.h"

namespace gpucast::microbench {

class EngineOptions {
 public:
  void declare(support::Options command);
  // Throws InputError where the engine asked for is not there. `err` gets a note where CPU threads
  // take the place of GPUs.
  std::unique_ptr<Engine> open(std::ostream& err) const;
  // Another run of this program gets the same engine by them.
  std::vector<std::string> arguments() const;

 private:
  std::string engine_ = "auto";
  int host_devices_ = 0;
};

// The devices that a list names (empty: all). Throws InputError for one that is not there.
std::vector<int> devices_of(const std::string& list, const Engine& engine);

}  // namespace gpucast::microbench

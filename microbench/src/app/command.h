// A subcommand: its options, and what it does with them.
#pragma once

#include <memory>

#include "app/context.h"

namespace CLI {
class App;
}

namespace gpucast::microbench {

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
  // Adds itself and its options to the program; what it returns says whether the user chose it.
  virtual CLI::App& declare(CLI::App& parent) = 0;
  // Returns the exit status.
  virtual int run(Context& context) = 0;
};

std::unique_ptr<Command> measure_command();
std::unique_ptr<Command> exercise_command();
std::unique_ptr<Command> topology_command();
std::unique_ptr<Command> check_command();

}  // namespace gpucast::microbench

#include "app/command_line.h"

#include "app/command.h"

namespace gpucast::microbench {

int run_command_line(Context& context) {
  support::CommandLine line(
      program, "What transfers and launches cost, on every path to this machine's devices.",
      GPUCAST_VERSION);
  const auto commands = {measure_command, exercise_command, topology_command, check_command};
  return support::run_chosen(line, commands, context);
}

}  // namespace gpucast::microbench

#include "app/command_line.h"

#include "app/command.h"

namespace gpucast::mdapp {

int run_command_line(Context& context) {
  support::CommandLine line(
      program, "Molten-salt molecular dynamics on several GPUs: the source of step timings.",
      GPUCAST_VERSION);
  const auto commands = {measure_command, simulate_command, forces_command, check_command,
                         throughput_command};
  return support::run_chosen(line, commands, context);
}

}  // namespace gpucast::mdapp

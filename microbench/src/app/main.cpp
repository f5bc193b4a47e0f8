// gpucast-microbench. Only this file turns errors into an exit status: 0, 1 the run failed, 2 the
// input is wrong.
#include <exception>
#include <iostream>

#include "app/command.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/interrupt.h"

int main(int argc, char** argv) {
  using namespace gpucast;
  try {
    const support::Interrupt interrupt;  // before any thread starts
    support::Context context{.program = microbench::program,
                             .command_line = {argv, argv + argc},
                             .interrupted = interrupt.token(),
                             .out = std::cout,
                             .err = std::cerr};
    support::CommandLine line(
        context.program,
        "Times of transfers and launches, on every path to this machine's devices.");
    const auto commands = {microbench::measure_command, microbench::exercise_command,
                           microbench::skeleton_command, microbench::topology_command,
                           microbench::check_command};
    const int status = support::run_chosen(line, commands, context);
    if (!std::cout.flush()) throw support::OutputError("stdout: cannot be written");
    return status;
  } catch (const std::exception& error) {
    std::cerr << microbench::program << ": error: " << error.what() << "\n";
    return support::exit_status(error);
  }
}

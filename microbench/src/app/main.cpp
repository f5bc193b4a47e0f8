// gpucast-microbench. Only this file turns errors into an exit status: 0, 1 if the run failed, 2 if
// the input is wrong.
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
    const int status = support::run_chosen<support::Context>(
        line,
        {{"measure",
          "transfers, launches, overlap, contention, steps without work, kinds of host memory",
          microbench::measure_command},
         {"exercise", "copy both ways until stopped, between a device and the host or two devices",
          microbench::exercise_command},
         {"skeleton",
          "repeat the calls of a traced program's steps, with kernels of the same duration",
          microbench::skeleton_command},
         {"topology", "devices and how they reach each other, as JSON",
          microbench::topology_command},
         {"check", "whether copies of every kind arrive, and gates, memory and errors behave",
          microbench::check_command}},
        context);
    if (!std::cout.flush()) throw support::OutputError("stdout: cannot be written");
    return status;
  } catch (const std::exception& error) {
    std::cerr << microbench::program << ": error: " << error.what() << "\n";
    return support::exit_status(error);
  }
}

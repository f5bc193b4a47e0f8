// gpucast-microbench. Only this file turns errors into an exit status: 0, 1 the run failed, 2 the
// input is wrong.
#include <exception>
#include <iostream>

#include "app/command_line.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/interrupt.h"

int main(int argc, char** argv) {
  namespace support = gpucast::support;
  namespace microbench = gpucast::microbench;
  try {
    const support::Interrupt interrupt;  // before any thread starts
    microbench::Context context{.command_line = {argv, argv + argc},
                                .interrupted = interrupt.token(),
                                .out = std::cout,
                                .err = std::cerr};
    const int status = microbench::run_command_line(context);
    if (!std::cout.flush()) throw support::OutputError("stdout: cannot be written");
    return status;
  } catch (const std::exception& error) {
    std::cerr << microbench::program << ": error: " << error.what() << "\n";
    return support::exit_status(error);
  }
}

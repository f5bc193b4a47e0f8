// gpucast-mdapp. Only this file turns errors into an exit status: 0, 1 if the run failed, 2 if the
// input is wrong.
#include <chrono>
#include <iostream>
#include <ostream>
#include <string_view>

#include "app/command.h"
#include "gpucast/support/interrupt.h"

namespace {

namespace mdapp = gpucast::mdapp;
namespace support = gpucast::support;

bool asks_for_mpi(int argc, char** argv) {
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    const bool of_schedule =
        word.starts_with("--schedule=") || std::string_view(argv[k - 1]) == "--schedule";
    if (of_schedule && word.find("mpi") != std::string_view::npos) return true;
  }
  return false;
}

// One process, unless it was started as one of several or the schedule mpi was requested.
std::unique_ptr<mdapp::Processes> processes(int argc, char** argv) {
  if (!mdapp::started_by_mpi_launcher() && !asks_for_mpi(argc, argv))
    return std::make_unique<mdapp::Processes>();
  return mdapp::join_processes();
}

int run(mdapp::Context& context) {
  support::CommandLine line(
      mdapp::program,
      "Molten-salt molecular dynamics on several GPUs: the source of step timings.");
  return support::run_chosen<mdapp::Context>(
      line,
      {{"measure", "time steps over a grid of cells", mdapp::measure_command},
       {"simulate", "run a simulation, with observables", mdapp::simulate_command},
       {"forces", "energy, virial and forces of one configuration, as JSON on stdout",
        mdapp::forces_command},
       {"check", "hold forces, bytes and trajectories of this machine's devices against limits",
        mdapp::check_command},
       {"throughput", "pairs a second of the kernels, side by side in one run",
        mdapp::throughput_command}},
      context);
}

int say(const std::exception& error) {
  std::cerr << mdapp::program << ": error: " << error.what() << "\n";
  return support::exit_status(error);
}

// If one of several processes fails, the others would wait for it forever. Most errors occur in all
// of them: the first one then reports the error before it ends the others.
int end(const std::exception& error, mdapp::Processes& all) {
  using namespace std::chrono_literals;
  if (all.rank() > 0) std::this_thread::sleep_for(5s);
  const int status = say(error);
  if (all.size() > 1) all.abort(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const support::Interrupt interrupt;  // before any thread starts
    const auto all = processes(argc, argv);
    try {
      std::ostream silent(nullptr);
      const bool first = all->rank() == 0;
      mdapp::Context context{{.program = mdapp::program,
                              .command_line = {argv, argv + argc},
                              .interrupted = interrupt.token(),
                              .out = first ? std::cout : silent,
                              .err = first ? std::cerr : silent},
                             *all};
      const int status = run(context);
      if (!std::cout.flush()) throw support::OutputError("stdout: cannot be written");
      return status;
    } catch (const std::exception& error) {
      return end(error, *all);
    }
  } catch (const std::exception& error) {
    return say(error);
  }
}

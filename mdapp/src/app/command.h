// The program's subcommands, their shared context, and options that several of them have.
#pragma once

#include <optional>

#include "gpucast/devices/engine_options.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

inline constexpr const char* program = "gpucast-mdapp";

// `out` and `err` belong to the first process; the output of others is dropped.
struct Context : support::Context {
  Processes& processes;

  // Only one of the processes writes files.
  bool writes() const { return processes.rank() == 0; }
};

using support::require;

// Throws InputError if several processes were started: only the schedule mpi uses them.
inline void require_one_process(const Context& context, const std::string& what) {
  require(context.processes.size() == 1, what + ": runs in one process");
}

using Command = support::Command<Context>;

std::unique_ptr<Command> measure_command();
std::unique_ptr<Command> simulate_command();
std::unique_ptr<Command> forces_command();
std::unique_ptr<Command> check_command();
std::unique_ptr<Command> throughput_command();

// ---- the simulated system ----

struct Physics {
  Salt salt = nacl();
  Surroundings around{};
  IntegratorOptions integrator{};
  std::uint64_t seed = 1;
  bool temperature_given = false;  // the user gave it
};

enum class Precision { single, twice };

// Functions that read options throw InputError.
class PhysicsOptions {
 public:
  void declare_potential(CLI::App* command);  // salt, constants, boundary
  void declare_motion(CLI::App* command);     // integrator, time step, temperature, seed
  void declare_seed(CLI::App* command);

  Physics read() const;
  const std::string& constants() const { return constants_; }

 private:
  std::string salt_ = "NaCl";
  std::string constants_ = "codata";
  std::string boundary_ = "open";
  std::optional<double> cutoff_, alpha_;
  std::string integrator_ = "verlet";
  IntegratorOptions motion_;
  CLI::Option* temperature_ = nullptr;
  std::string seed_ = "1";
};

// Prints one line if the boundary's forces are wrong for a melt.
void warn(const Physics& physics, std::ostream& err);

// The lattice of n ions with thermal velocities.
System start_of(const Physics& physics, int n);

// Options for the start configuration, of commands that work on one configuration.
class StartOptions {
 public:
  void declare(CLI::App* command);
  // Velocities come from the file, or are drawn.
  System read(const Physics& physics) const;

 private:
  std::string n_;
  std::string start_;
};

// ---- devices and schedules ----

inline constexpr int most_particles = 1'000'000'000;
inline constexpr int most_gpus = 65536;

struct Grid {
  std::vector<int> n{};
  std::vector<int> gpus{};
  std::vector<Schedule> schedules{};
  std::vector<KernelName> kernels{};
  std::vector<Memory> memories{};  // of star-serial; the others use pinned memory
  int block = 0;
  int j_split = 0;
  bool graph = false;
};

// The choice that the grid's options make; only tuned has a split.
KernelChoice kernel_of(const Grid& grid, KernelName name);

class GridOptions {
 public:
  // Declares single values; or lists, with a list of n and --cells as a replacement of all options
  // for a grid's cells.
  void declare(CLI::App* command, bool lists);
  Grid read() const;
  Grid read_common() const;                            // what lines of cells do not contain
  const std::string& cells() const { return cells_; }  // the file of cells; empty: a grid
  ScheduleOptions read_one() const;                    // a single value of each

  // Throws InputError for options of devices, and for several processes: double precision uses this
  // host's threads.
  void require_none(const devices::EngineOptions& engine, const Context& context) const;

 private:
  Grid read_schedules() const;

  std::string n_;
  std::string cells_;
  std::string gpus_ = "1";
  std::string schedules_ = "star-serial";
  std::string kernels_ = "claret";
  std::string memories_ = "pageable";
  int block_ = 0;
  int j_split_ = 0;
  bool graph_ = false;
  std::vector<CLI::Option*> declared_;
  CLI::Option* memory_ = nullptr;
};

// A list of whole numbers from 1 to `most`.
std::vector<int> counts(const char* option, const std::string& text, int most);

}  // namespace gpucast::mdapp

// The spellings of the program's own options.
namespace gpucast::schema {

template <>
inline constexpr auto words<mdapp::KernelName> = in_order<mdapp::KernelName>("claret", "tuned");
template <>
inline constexpr auto words<mdapp::IntegratorKind> =
    in_order<mdapp::IntegratorKind>("verlet", "nose-hoover");
template <>
inline constexpr auto words<mdapp::ConstantSet> = in_order<mdapp::ConstantSet>("codata", "claret");
template <>
inline constexpr auto words<mdapp::Precision> = in_order<mdapp::Precision>("float", "double");

}  // namespace gpucast::schema

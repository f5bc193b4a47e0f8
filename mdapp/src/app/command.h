// The program's subcommands, what each works with beyond its own options, and the options that
// several have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpucast/devices/engine_options.h"
#include "gpucast/support/command_line.h"
#include "gpucast/support/context.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/parse_word.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

inline constexpr const char* program = "gpucast-mdapp";

// `out` and `err` are those of the first process; what others write goes nowhere.
struct Context : support::Context {
  Processes& processes;

  // One of the processes writes files; the others compute beside it.
  bool writes() const { return processes.rank() == 0; }
};

using support::require;

// Throws InputError where several were started: only the schedule mpi uses them.
inline void require_one_process(const Context& context, const std::string& what) {
  require(context.processes.size() == 1, what + ": runs in one process");
}

using Command = support::Command<Context>;

std::unique_ptr<Command> measure_command();
std::unique_ptr<Command> simulate_command();
std::unique_ptr<Command> forces_command();
std::unique_ptr<Command> check_command();
std::unique_ptr<Command> throughput_command();

// ---- what is simulated ----

struct Physics {
  Salt salt = nacl();
  Surroundings around{};
  IntegratorOptions integrator{};
  std::uint64_t seed = 1;
  bool temperature_given = false;  // by the user
};

enum class Precision { single, twice };

// What reads options throws InputError.
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

// One line, where the boundary's forces are wrong for a melt.
void warn(const Physics& physics, std::ostream& err);

// The lattice of n ions with thermal velocities.
System start_of(const Physics& physics, int n);

// Where particles start: options of commands that work on one configuration.
class StartOptions {
 public:
  void declare(CLI::App* command);
  // With velocities: those of the file, or drawn.
  System read(const Physics& physics) const;

 private:
  std::string n_;
  std::string start_;
};

// ---- on what, and how ----

inline constexpr int most_particles = 1'000'000'000;
inline constexpr int most_gpus = 65536;

struct Grid {
  std::vector<int> n{};
  std::vector<int> gpus{};
  std::vector<Schedule> schedules{};
  std::vector<KernelName> kernels{};
  std::vector<Memory> memories{};  // of star-serial; the others have pinned memory
  int block = 0;
  int j_split = 0;
  bool graph = false;
};

// As the grid's options mean it; only tuned has a split.
KernelChoice kernel_of(const Grid& grid, KernelName name);

class GridOptions {
 public:
  // One of each; or lists, of n as well, and --cells in place of all that names a grid's cells.
  void declare(CLI::App* command, bool lists);
  Grid read() const;
  Grid read_common() const;                            // of cells that are lines: what no line says
  const std::string& cells() const { return cells_; }  // the file with them; empty: a grid
  ScheduleOptions read_one() const;                    // one of each, where lists make no sense

  // Throws InputError for options of devices, and for several processes: double precision computes
  // on this host's threads.
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

// The words of the program's own options.
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

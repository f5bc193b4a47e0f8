#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "app/plan.h"
#include "gpucast/support/number_list.h"
#include "physics/xyz.h"

namespace gpucast::mdapp {

using support::require_not_negative;
using support::require_positive;

void PhysicsOptions::declare_potential(CLI::App* command) {
  command->add_option("--salt", salt_, "NaCl, KCl");
  command->add_option("--constants", constants_,
                      "physical constants: " + support::choices<ConstantSet>());
  command->add_option("--boundary", boundary_, support::choices<BoundaryKind>());
  command->add_option("--cutoff", cutoff_, "cut-off of dsf, m (default: half the box's side)");
  command->add_option("--alpha", alpha_, "damping of dsf, 1/m (default: 2e9)");
}

void PhysicsOptions::declare_motion(CLI::App* command) {
  command->add_option("--integrator", integrator_, support::choices<IntegratorKind>());
  command->add_option("--dt", motion_.dt, "time step, s");
  temperature_ = command->add_option("--temperature", motion_.temperature,
                                     "initial temperature, and that of nose-hoover, K");
  command->add_option("--relaxation", motion_.relaxation, "relaxation time of nose-hoover, s");
  declare_seed(command);
}

void PhysicsOptions::declare_seed(CLI::App* command) {
  command->add_option("--seed", seed_, "seed of all random numbers");
}

Physics PhysicsOptions::read() const {
  // Parsed here: an unsigned option would accept -1 as the largest number.
  const auto seed = support::parse_number("--seed", seed_, {.least = 0});
  Physics physics{.integrator = motion_,
                  .seed = static_cast<std::uint64_t>(seed),
                  .temperature_given = temperature_ && temperature_->count() > 0};
  if (salt_ != "NaCl" && salt_ != "KCl") support::refuse_word("--salt", salt_, "NaCl, KCl");
  physics.salt = salt(salt_, support::parse_word<ConstantSet>("--constants", constants_));
  physics.around.kind = support::parse_word<BoundaryKind>("--boundary", boundary_);
  physics.integrator.kind = support::parse_word<IntegratorKind>("--integrator", integrator_);
  for (const auto& [option, value, target] :
       {std::tuple{"--cutoff", cutoff_, &physics.around.cutoff},
        std::tuple{"--alpha", alpha_, &physics.around.alpha}}) {
    if (!value) continue;
    require_positive(option, *value);
    require(physics.around.kind == BoundaryKind::dsf,
            std::string(option) + ": only --boundary dsf has one");
    *target = *value;
  }
  require_positive("--dt", motion_.dt);
  require_positive("--relaxation", motion_.relaxation);
  const bool thermostat = physics.integrator.kind == IntegratorKind::nose_hoover;
  (thermostat ? require_positive : require_not_negative)("--temperature", motion_.temperature);
  return physics;
}

void warn(const Physics& physics, std::ostream& err) {
  if (physics.around.kind == BoundaryKind::minimum_image) {
    err << program
        << ": warning: minimum-image forces are wrong for a melt (by 40 % and more); for timing "
           "only\n";
  }
}

System start_of(const Physics& physics, int n) {
  System system = rock_salt(physics.salt, n, physics.around);
  set_velocities(system, physics.integrator.temperature, physics.seed);
  return system;
}

void StartOptions::declare(CLI::App* command) {
  CLI::Option* n = command->add_option("-n,--n", n_, "particles of a lattice");
  command->add_option("--start", start_, "start configuration, extended XYZ")->excludes(n);
}

System StartOptions::read(const Physics& physics) const {
  require(!n_.empty() || !start_.empty(), "--n: how many particles? (or --start FILE.xyz)");
  if (start_.empty()) {
    const auto n = support::parse_number("--n", n_, {.least = 1, .most = most_particles});
    require_host_memory(static_cast<int>(n));
    try {
      return start_of(physics, static_cast<int>(n));
    } catch (const std::invalid_argument& error) {
      throw support::InputError(std::string("--cutoff: ") + error.what());
    }
  }
  XyzStart start = read_xyz(start_, physics.salt, physics.around);
  require(!start.has_velocities || !physics.temperature_given ||
              physics.integrator.kind != IntegratorKind::verlet,
          "--temperature: " + start_ + " has velocities");
  if (!start.has_velocities)
    set_velocities(start.system, physics.integrator.temperature, physics.seed);
  return std::move(start.system);
}

KernelChoice kernel_of(const Grid& grid, KernelName name) {
  return {
      .name = name, .block = grid.block, .j_split = name == KernelName::tuned ? grid.j_split : 0};
}

std::vector<int> counts(const char* option, const std::string& text, int most) {
  const auto numbers = support::parse_number_list(option, text, {.least = 1, .most = most});
  std::vector<int> result(numbers.size());
  std::ranges::transform(numbers, result.begin(), [](auto n) { return static_cast<int>(n); });
  return result;
}

void GridOptions::declare(CLI::App* command, bool lists) {
  const std::string list = lists ? "list of " : "";
  std::vector<CLI::Option*> of_grid;
  if (lists) {
    of_grid.push_back(
        command->add_option("-n,--n", n_, "particles: 216,512,1e5 or 512..1e5:9 (9 values)"));
  }
  const auto add = [&](const char* option, auto& value, const std::string& description) {
    declared_.push_back(command->add_option(option, value, description));
    return declared_.back();
  };
  add("--gpus", gpus_, lists ? "devices: 1,2,4 or 1-4" : "devices");
  add("--schedule", schedules_, list + support::choices<Schedule>());
  add("--kernel", kernels_, list + support::choices<KernelName>());
  memory_ = add("--memory", memories_,
                "host memory of star-serial, " + list + support::choices<Memory>(mdapp::memories) +
                    "; the other schedules need pinned memory");
  of_grid.insert(of_grid.end(), declared_.begin(), declared_.end());
  add("--block", block_, "threads a block (0: the kernel's own choice)");
  add("--j-split", j_split_, "parts that tuned splits a sum into (0: as many as fill the GPU)");
  declared_.push_back(
      command->add_flag("--graph", graph_, "record a step as a CUDA graph and replay it"));
  if (!lists) return;
  CLI::Option* cells = command->add_option(
      "--cells", cells_,
      "file of cells, or - for stdin: lines \"n gpus schedule kernel memory\", each "
      "read when the one before has been measured");
  for (CLI::Option* option : of_grid)
    cells->excludes(option);
}

Grid GridOptions::read_common() const {
  require_not_negative("--block", block_);
  require_not_negative("--j-split", j_split_);
  return {.block = block_, .j_split = j_split_, .graph = graph_};
}

Grid GridOptions::read() const {
  require(!n_.empty(), "--n is required");
  Grid grid = read_schedules();
  grid.n = counts("--n", n_, most_particles);
  return grid;
}

Grid GridOptions::read_schedules() const {
  Grid grid = read_common();
  grid.gpus = counts("--gpus", gpus_, most_gpus);
  grid.schedules = support::parse_words<Schedule>("--schedule", schedules_);
  grid.kernels = support::parse_words<KernelName>("--kernel", kernels_);
  grid.memories = support::parse_words<Memory>("--memory", memories_, mdapp::memories);
  // Options without effect are errors.
  const auto has = [](const auto& list, auto value) {
    return std::ranges::find(list, value) != list.end();
  };
  require(memory_->count() == 0 || has(grid.schedules, Schedule::star_serial) ||
              grid.memories == std::vector{Memory::pinned},
          "--memory: only star-serial has a choice; the others need pinned");
  require(grid.j_split == 0 || has(grid.kernels, KernelName::tuned),
          "--j-split: only the kernel tuned splits sums");
  return grid;
}

ScheduleOptions GridOptions::read_one() const {
  const Grid grid = read_schedules();
  const auto only = [](const char* option, const auto& list) {
    require(list.size() == 1, std::string(option) + ": one, not a list");
    return list.front();
  };
  ScheduleOptions options{.name = only("--schedule", grid.schedules),
                          .memory = only("--memory", grid.memories),
                          .graph = grid.graph,
                          .gpus = only("--gpus", grid.gpus),
                          .kernel = kernel_of(grid, only("--kernel", grid.kernels))};
  if (options.name != Schedule::star_serial) options.memory = Memory::pinned;
  return options;
}

void GridOptions::require_none(const devices::EngineOptions& engine, const Context& context) const {
  const std::string why = "does not go with --precision double";
  engine.refuse_given(why);
  for (CLI::Option* option : declared_)
    support::refuse_given(option, why);
  require_one_process(context, "--precision double");
}

}  // namespace gpucast::mdapp

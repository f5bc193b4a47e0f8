#include "app/physics_options.h"

#include "app/command.h"
#include "app/plan.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/number_list.h"
#include "physics/xyz.h"

namespace gpucast::mdapp {

using support::require_positive;

void PhysicsOptions::declare_potential(CLI::App* command) {
  command->add_option("--salt", salt_, "NaCl, KCl");
  command->add_option("--constants", constants_,
                      "physical constants: " + support::choices<ConstantSet>());
  command->add_option("--boundary", boundary_, support::choices<BoundaryKind>());
  command->add_option("--cutoff", cutoff_, "of dsf, m (default: half the box's side)");
  command->add_option("--alpha", alpha_, "damping of dsf, 1/m (default: 2e9)");
}

void PhysicsOptions::declare_motion(CLI::App* command) {
  command->add_option("--integrator", integrator_, support::choices<IntegratorKind>());
  command->add_option("--dt", motion_.dt, "time step, s");
  temperature_ = command->add_option("--temperature", motion_.temperature,
                                     "at the start, and of nose-hoover, K");
  command->add_option("--relaxation", motion_.relaxation, "of nose-hoover, s");
  declare_seed(command);
}

void PhysicsOptions::declare_seed(CLI::App* command) {
  command->add_option("--seed", seed_, "seed of all random numbers");
}

Physics PhysicsOptions::read() const {
  // Parsed here: an unsigned option would take -1 for the largest of all.
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
  support::require_not_negative("--temperature", motion_.temperature);
  if (physics.integrator.kind == IntegratorKind::nose_hoover) {
    require_positive("--temperature", motion_.temperature);
  }
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

using support::InputError;

void StartOptions::declare(CLI::App* command) {
  CLI::Option* n = command->add_option("-n,--n", n_, "particles of a lattice");
  command->add_option("--start", start_, "start configuration, extended XYZ")->excludes(n);
}

System StartOptions::read(const Physics& physics) const {
  require(!n_.empty() || !start_.empty(), "--n: how many particles? (or --start FILE.xyz)");
  if (start_.empty()) return lattice(physics);
  XyzStart start = read_xyz(start_, physics.salt, physics.around);
  require(!start.has_velocities || !physics.temperature_given ||
              physics.integrator.kind != IntegratorKind::verlet,
          "--temperature: " + start_ + " has velocities");
  if (!start.has_velocities) {
    set_velocities(start.system, physics.integrator.temperature, physics.seed);
  }
  return std::move(start.system);
}

System StartOptions::lattice(const Physics& physics) const {
  const auto n =
      static_cast<int>(support::parse_number("--n", n_, {.least = 1, .most = most_particles}));
  require_host_memory(n);
  try {
    return start_of(physics, n);
  } catch (const std::invalid_argument& error) {
    throw InputError(std::string("--cutoff: ") + error.what());
  }
}

}  // namespace gpucast::mdapp

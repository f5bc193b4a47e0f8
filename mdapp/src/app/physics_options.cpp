#include "app/physics_options.h"

#include <cmath>

#include "app/command.h"
#include "app/words.h"
#include "gpucast/support/number_list.h"

namespace gpucast::mdapp {
namespace {

void require_positive(const char* option, double value) {
  require(std::isfinite(value) && value > 0,
          std::string(option) + ": must be a number greater than 0");
}

}  // namespace

void PhysicsOptions::declare_potential(support::Options command) {
  command.add("--salt", salt_, "NaCl, KCl").show_default();
  command.add("--constants", constants_, "physical constants: " + support::choices<ConstantSet>())
      .show_default();
  command.add("--boundary", boundary_, support::choices<BoundaryKind>()).show_default();
  command.add("--cutoff", cutoff_, "of dsf, m (default: half the box's side)");
  command.add("--alpha", alpha_, "damping of dsf, 1/m (default: 2e9)");
}

void PhysicsOptions::declare_motion(support::Options command) {
  command.add("--integrator", integrator_, support::choices<IntegratorKind>()).show_default();
  command.add("--dt", motion_.dt, "time step, s").show_default();
  temperature_ =
      command.add("--temperature", motion_.temperature, "at the start, and of nose-hoover, K")
          .show_default();
  command.add("--relaxation", motion_.relaxation, "of nose-hoover, s").show_default();
  declare_seed(command);
}

void PhysicsOptions::declare_seed(support::Options command) {
  command.add("--seed", seed_, "of what is drawn at random").show_default();
}

Physics PhysicsOptions::read() const {
  // Parsed here: an unsigned option would take -1 for the largest of all.
  const auto seed = support::parse_number("--seed", seed_, {.least = 0});
  Physics physics{.integrator = motion_,
                  .seed = static_cast<std::uint64_t>(seed),
                  .temperature_given = temperature_ && temperature_->given()};
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
  require(std::isfinite(motion_.temperature) && motion_.temperature >= 0,
          "--temperature: must be a number that is not negative");
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

}  // namespace gpucast::mdapp

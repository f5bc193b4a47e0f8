#include "app/start_options.h"

#include "app/capacity.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/number_list.h"
#include "physics/xyz.h"

namespace gpucast::mdapp {

using support::InputError;

void StartOptions::declare(support::Options command) {
  const support::Option n = command.add("-n,--n", n_, "particles of a lattice");
  command.add("--start", start_, "start configuration, extended XYZ").excludes(n);
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

void require_no_devices(const devices::EngineOptions& engine, const GridOptions& schedule,
                        const Context& context) {
  engine.refuse_given("does not go with --precision double");
  schedule.refuse_given("does not go with --precision double");
  require_one_process(context, "--precision double");
}

}  // namespace gpucast::mdapp

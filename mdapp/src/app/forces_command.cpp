// gpucast-mdapp forces: energy, virial and forces of one configuration, for others to compare with.
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/capacity.h"
#include "app/command.h"
#include "app/configuration.h"
#include "app/double_options.h"
#include "app/start_options.h"
#include "app/words.h"
#include "gpucast/records/this_machine.h"

namespace gpucast::mdapp {
namespace {

using Json = nlohmann::ordered_json;

// Particles as they stood in the start configuration.
class InStartOrder {
 public:
  explicit InStartOrder(const System& system) : place_(system.origin.size()) {
    for (std::size_t k = 0; k < place_.size(); ++k)
      place_[static_cast<std::size_t>(system.origin[k])] = k;
  }

  template <class Body>
  Json list(Body body) const {
    Json array = Json::array();
    for (const std::size_t k : place_)
      array.push_back(body(k));
    return array;
  }

  Json triples(const std::vector<double>& values) const {
    return list(
        [&](std::size_t k) { return Json{values[3 * k], values[3 * k + 1], values[3 * k + 2]}; });
  }

 private:
  std::vector<std::size_t> place_;
};

Json json_of(const Boundary& boundary) {
  Json json{{"kind", std::string(name(boundary.kind))}, {"side_angstrom", boundary.side}};
  if (boundary.kind == BoundaryKind::dsf) {
    json["cutoff_angstrom"] = boundary.cutoff;
    json["alpha_per_angstrom"] = boundary.alpha;
  }
  return json;
}

Json json_of(const System& system, const Forces& forces) {
  const InStartOrder order(system);
  return {{"salt", std::string(system.salt.name)},
          {"n", system.n()},
          {"boundary", json_of(system.boundary)},
          {"energy_eV", forces.potential.energy},
          {"virial_eV", forces.potential.virial},
          {"types", order.list([&](std::size_t k) { return system.type(static_cast<int>(k)); })},
          {"positions_angstrom", order.triples(forces.r)},
          {"energies_eV", order.list([&](std::size_t k) { return forces.energy[k]; })},
          {"forces_eV_per_angstrom", order.triples(forces.force)}};
}

class ForcesOf : public Command {
 public:
  support::Options declare(support::CommandLine& line) override {
    support::Options command =
        line.command("forces", "energy, virial and forces of one configuration, as JSON on stdout");
    start_.declare(command);
    command.add("--displace", displace_,
                "move each particle at random by at most so much in x, y and z, angstrom");
    physics_.declare_potential(command);
    physics_.declare_seed(command);
    command.add("--precision", precision_, support::choices<Precision>() + " (double: on the host)")
        .show_default();
    engine_.declare(command);
    schedule_.declare_schedule(command, false);
    return command;
  }

  int run(Context& context) override {
    const Physics physics = physics_.read();
    const auto precision = support::parse_word<Precision>("--precision", precision_);
    const ScheduleOptions schedule = schedule_.read_one();
    if (!std::isfinite(displace_) || displace_ < 0) {
      throw support::InputError("--displace: must not be negative");
    }
    if (precision == Precision::twice) require_no_devices(engine_, schedule_, context);
    System system = start_.read(physics);
    displace(system, displace_, physics.seed);
    warn(physics, context.err);
    Json answer{{"precision", precision_}, {"constants", physics_.constants()}};
    Forces forces;
    if (precision == Precision::twice) {
      forces = forces_in_double(system, static_cast<int>(records::allowed_cores()));
    } else {
      const auto engine = engine_.open(context, host_engine, cuda_engine);
      require_capacity(*engine, context.processes, physics, system.n(), schedule);
      forces = forces_in_float(*engine, system, schedule);
      answer["path"] = name(engine->path());
      answer["schedule"] = name(schedule.name);
      answer["kernel"] = support::name(schedule.kernel.name);
      answer["gpus"] = schedule.gpus;
    }
    answer.update(json_of(system, forces));
    context.out << answer.dump() << "\n";
    return 0;
  }

 private:
  StartOptions start_;
  double displace_ = 0;
  PhysicsOptions physics_;
  std::string precision_ = "double";
  devices::EngineOptions engine_;
  GridOptions schedule_;
};

}  // namespace

std::unique_ptr<Command> forces_command() { return std::make_unique<ForcesOf>(); }

}  // namespace gpucast::mdapp

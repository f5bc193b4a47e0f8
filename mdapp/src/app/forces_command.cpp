// gpucast-mdapp forces: energy, virial and forces of one configuration on any engine, as JSON for
// comparisons.

#include "app/plan.h"
#include "gpucast/records/records.h"
#include "physics/integrator.h"
#include "physics/pair.h"
#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

using Json = nlohmann::ordered_json;

// In the order of the system. `energy` is per particle: half its pairs' and its own (dsf).
struct Forces : ReferenceForces {
  std::vector<double> r{};  // the positions that were used: rounded in float; angstrom
};

void require_sound(const System& system, const std::vector<double>& forces) {
  for (const double force : forces)
    if (!sound(static_cast<float>(force))) throw Overlap(describe_overlap(system));
}

// Computed by devices in single precision. All processes call it together.
Forces forces_in_float(Engine& engine, const System& system, const ScheduleOptions& options) {
  if (options.name == Schedule::allgather)
    throw support::InputError("--schedule allgather: its forces stay on the GPUs");
  const auto schedule = force_schedule(engine, system, options);
  const Slice own = schedule->integrates();
  const auto n = static_cast<std::size_t>(system.n());
  Forces result{{.force = std::vector<double>(3 * n), .energy = std::vector<double>(n)}};
  result.r = rounded_positions(system);
  for (double& x : result.r)
    x *= decay_length(system.salt);
  pack(system, own, schedule->positions());
  schedule->compute();
  const auto first = static_cast<std::size_t>(own.first);
  const auto end = first + static_cast<std::size_t>(own.count);
  for (std::size_t k = first; k < end; ++k) {
    const Force& f = schedule->forces()[k];
    result.force[3 * k] = f.x;
    result.force[3 * k + 1] = f.y;
    result.force[3 * k + 2] = f.z;
  }
  const auto sums = schedule->compute_sums();
  const double self = self_energy(system.salt, system.boundary);
  Potential& potential = result.potential;
  for (std::size_t k = first; k < end; ++k) {
    result.energy[k] = sums[k].energy + self;
    potential.energy += result.energy[k];
    potential.virial += sums[k].virial;
  }
  // Results of other processes are zero here.
  for (const auto sum : {std::span(result.force), std::span(result.energy),
                         std::span(&potential.energy, 1), std::span(&potential.virial, 1)})
    schedule->add_up(sum);
  return result;
}

// Computed by this host's threads in double precision.
Forces forces_in_double(const System& system) {
  Forces result{reference_forces(system, static_cast<int>(records::allowed_cores())), system.r};
  for (double& energy : result.energy)
    energy += self_energy(system.salt, system.boundary);
  return result;
}

// body(k) for all particles in the order of the start configuration.
template <class Body>
Json list(const System& system, Body body) {
  Json array = Json::array();
  for (const std::size_t k : system.places())
    array.push_back(body(k));
  return array;
}

Json triples(const System& system, const std::vector<double>& values) {
  return list(system, [&](std::size_t k) {
    return Json{values[3 * k], values[3 * k + 1], values[3 * k + 2]};
  });
}

Json json_of(const Boundary& boundary) {
  Json json{{"kind", schema::name(boundary.kind)}, {"side_angstrom", boundary.side}};
  if (boundary.kind == BoundaryKind::dsf) {
    json["cutoff_angstrom"] = boundary.cutoff;
    json["alpha_per_angstrom"] = boundary.alpha;
  }
  return json;
}

Json json_of(const System& system, const Forces& forces) {
  return {{"salt", std::string(system.salt.name)},
          {"n", system.n()},
          {"boundary", json_of(system.boundary)},
          {"energy_eV", forces.potential.energy},
          {"virial_eV", forces.potential.virial},
          {"types", list(system, [&](std::size_t k) { return system.type(static_cast<int>(k)); })},
          {"positions_angstrom", triples(system, forces.r)},
          {"energies_eV", list(system, [&](std::size_t k) { return forces.energy[k]; })},
          {"forces_eV_per_angstrom", triples(system, forces.force)}};
}

class ForcesOf : public Command {
 public:
  void declare(CLI::App* command) override {
    start_.declare(command);
    command->add_option(
        "--displace", displace_,
        "move each particle at random by up to this distance in x, y and z, angstrom");
    physics_.declare_potential(command);
    physics_.declare_seed(command);
    command->add_option("--precision", precision_,
                        support::choices<Precision>() + " (double: on the host)");
    engine_.declare(command);
    schedule_.declare(command, false);
  }

  int run(Context& context) override {
    const Physics physics = physics_.read();
    const auto precision = support::parse_word<Precision>("--precision", precision_);
    const ScheduleOptions schedule = schedule_.read_one();
    support::require_not_negative("--displace", displace_);
    if (precision == Precision::twice) schedule_.require_none(engine_, context);
    System system = start_.read(physics);
    displace(system, displace_, physics.seed);
    warn(physics, context.err);
    Json answer{{"precision", precision_}, {"constants", physics_.constants()}};
    Forces forces;
    if (precision == Precision::twice) {
      forces = forces_in_double(system);
    } else {
      const auto engine = engine_.open(context, host_engine, cuda_engine);
      require_capacity(*engine, context.processes, system.n(), schedule);
      forces = forces_in_float(*engine, system, schedule);
      answer["path"] = name(engine->path());
      answer["schedule"] = name(schedule.name);
      answer["kernel"] = support::name(schedule.kernel.name);
      answer["gpus"] = schedule.gpus;
    }
    require_sound(system, forces.force);
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

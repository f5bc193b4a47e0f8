#include "app/configuration.h"

#include <cmath>

#include "gpucast/support/errors.h"
#include "physics/integrator.h"
#include "physics/motion.h"
#include "physics/overlap.h"
#include "physics/pair.h"
#include "physics/reference.h"
#include "schedule/mpi.h"

namespace gpucast::mdapp {
namespace {

std::unique_ptr<ForceSchedule> open(Engine& engine, const System& system,
                                    const ScheduleOptions& schedule) {
  if (schedule.name == Schedule::allgather) {
    throw support::InputError("--schedule allgather: its forces stay on the GPUs");
  }
  if (schedule.name == Schedule::mpi) return mpi_schedule(engine, system, schedule);
  return star(engine, system, schedule);
}

// As devices get them.
std::vector<double> rounded_positions(const System& system) {
  std::vector<Position> positions(static_cast<std::size_t>(system.n()));
  pack(system, {0, system.n()}, positions);
  const double lambda = decay_length(system.salt);
  std::vector<double> r;
  r.reserve(system.r.size());
  for (const Position& p : positions)
    r.insert(r.end(), {p.x * lambda, p.y * lambda, p.z * lambda});
  return r;
}

void require_sound(const System& system, const std::vector<double>& forces) {
  for (const double force : forces) {
    if (!sound(static_cast<float>(force))) throw Overlap(describe_overlap(system));
  }
}

}  // namespace

Forces forces_in_float(Engine& engine, const System& system, const ScheduleOptions& schedule) {
  const auto devices = open(engine, system, schedule);
  const Slice own = devices->integrates();
  const auto n = static_cast<std::size_t>(system.n());
  Forces result{.r = rounded_positions(system),
                .force = std::vector<double>(3 * n),
                .energy = std::vector<double>(n),
                .potential = {}};
  pack(system, own, devices->positions());
  devices->compute();
  const auto first = static_cast<std::size_t>(own.first);
  const auto count = static_cast<std::size_t>(own.count);
  for (std::size_t k = first; k < first + count; ++k) {
    const Force& f = devices->forces()[k];
    result.force[3 * k] = f.x;
    result.force[3 * k + 1] = f.y;
    result.force[3 * k + 2] = f.z;
  }
  const auto sums = devices->compute_sums();
  const double self = self_energy(system.salt, system.boundary);
  for (std::size_t k = first; k < first + count; ++k) {
    result.energy[k] = sums[k].energy + self;
    result.potential.energy += result.energy[k];
    result.potential.virial += sums[k].virial;
  }
  // What other processes computed is zero here.
  devices->add_up(std::span(result.force));
  devices->add_up(std::span(result.energy));
  devices->add_up(std::span(&result.potential.energy, 1));
  devices->add_up(std::span(&result.potential.virial, 1));
  require_sound(system, result.force);
  return result;
}

Forces forces_in_double(const System& system, int threads) {
  ReferenceForces reference = reference_forces(system, threads);
  require_sound(system, reference.force);
  for (double& energy : reference.energy)
    energy += self_energy(system.salt, system.boundary);
  return {.r = system.r,
          .force = std::move(reference.force),
          .energy = std::move(reference.energy),
          .potential = reference.potential};
}

}  // namespace gpucast::mdapp

#include "physics/integrator.h"

#include <algorithm>
#include <utility>

#include "physics/overlap.h"
#include "physics/pair.h"
#include "physics/units.h"

namespace gpucast::mdapp {

Motion motion_of(const IntegratorOptions& options, const System& system) {
  const double h = options.dt / time_unit;
  const double kicked = options.kind == IntegratorKind::verlet ? h / 2 : h;
  const double ratio = options.dt / options.relaxation;
  return {.mass = {system.salt.mass[0], system.salt.mass[1]},
          .kick = {kicked / system.salt.mass[0], kicked / system.salt.mass[1]},
          .inverse_lambda = 1 / decay_length(system.salt),
          .drift = h,
          .half_side = system.boundary.side / 2,
          .periodic = periodic(system.boundary.kind),
          .thermostat_rate = options.kind == IntegratorKind::nose_hoover ? ratio * ratio / 2 : 0,
          .twice_kinetic_target =
              degrees_of_freedom(system) * system.salt.constants.boltzmann * options.temperature};
}

Integrator::Integrator(const IntegratorOptions& options, System& system, Slice slice)
    : options_(options), system_(system), slice_(slice), motion_(motion_of(options, system)) {}

// Views of the slice; `forces` and `positions` are of all particles or empty.
SliceOfParticles Integrator::particles(std::span<const Force> forces,
                                       std::span<Position> positions) const {
  const auto first = static_cast<std::size_t>(slice_.first);
  return {.r = system_.r.data() + 3 * first,
          .v = system_.v.data() + 3 * first,
          .forces = forces.empty() ? nullptr : forces.data() + first,
          .positions = positions.empty() ? nullptr : positions.data() + first,
          .count = slice_.count,
          .cations = std::clamp(system_.cations - slice_.first, 0, slice_.count)};
}

void Integrator::start(std::span<const Force> forces) {
  check(forces);
  forces_ = forces;
}

void Integrator::before_forces(std::span<Position> positions) {
  positions_ = positions;
  const SliceOfParticles slice = particles(forces_, positions);
  if (options_.kind == IntegratorKind::verlet) kick_and_drift_all(slice, motion_);
  pack_all(slice, motion_.inverse_lambda);
}

void Integrator::after_forces(std::span<const Force> forces, Reducer& reducer) {
  check(forces);
  forces_ = forces;
  if (options_.kind == IntegratorKind::verlet) {
    kick_all(particles(forces, {}), motion_);
  } else {
    kick_and_drift(forces, reducer);
  }
}

void Integrator::kick_and_drift(std::span<const Force> forces, Reducer& reducer) {
  const SliceOfParticles slice = particles(forces, {});
  std::int64_t total[3] = {0, 0, 0};
  add_forces(slice, total);
  reducer.add_up(std::span<std::int64_t>(total));
  Motion motion = with_friction(motion_, friction_);
  for (int a = 0; a < 3; ++a)
    motion.mean_force[a] = from_quanta(total[a]) / system_.n();
  std::int64_t twice_kinetic = kick_and_drift_counting(slice, motion);
  reducer.add_up(std::span<std::int64_t>(&twice_kinetic, 1));
  friction_ = next_friction(friction_, from_quanta(twice_kinetic), motion_);
}

void Integrator::check(std::span<const Force> forces) const {
  if (all_sound(particles(forces, {}))) return;
  // Others may have moved their particles since this process last had the whole system.
  System now = system_;
  const double lambda = decay_length(system_.salt);
  for (std::size_t k = 0; k < positions_.size(); ++k) {
    const bool own =
        std::cmp_greater_equal(k, slice_.first) && std::cmp_less(k, slice_.first + slice_.count);
    if (own) continue;
    now.r[3 * k] = lambda * positions_[k].x;
    now.r[3 * k + 1] = lambda * positions_[k].y;
    now.r[3 * k + 2] = lambda * positions_[k].z;
  }
  throw Overlap(describe_overlap(now));
}

void pack(const System& system, Slice slice, std::span<Position> positions) {
  const double per_angstrom = 1 / decay_length(system.salt);
  for (int k = slice.first; k < slice.first + slice.count; ++k) {
    positions[static_cast<std::size_t>(k)] =
        packed(&system.r[3 * static_cast<std::size_t>(k)], system.type(k), per_angstrom);
  }
}

std::vector<double> rounded_positions(const System& system) {
  std::vector<Position> positions(static_cast<std::size_t>(system.n()));
  pack(system, {0, system.n()}, positions);
  std::vector<double> r;
  r.reserve(system.r.size());
  for (const Position& p : positions)
    r.insert(r.end(), {p.x, p.y, p.z});
  return r;
}

}  // namespace gpucast::mdapp

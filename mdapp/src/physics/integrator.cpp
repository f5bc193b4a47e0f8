#include "physics/integrator.h"

#include <algorithm>
#include <utility>

#include "physics/observables.h"
#include "physics/pair.h"

namespace gpucast::mdapp {
namespace {

// body(k, type) for each particle of the slice.
template <class Body>
void each(const SliceOfParticles& slice, Body body) {
  for (int k = 0; k < slice.cations; ++k)
    body(k, 0);
  for (int k = slice.cations; k < slice.count; ++k)
    body(k, 1);
}

// Forces as one array of components, like r and v.
const float* components(const SliceOfParticles& slice) {
  static_assert(sizeof(Force) == 3 * sizeof(float));
  return reinterpret_cast<const float*>(slice.forces);
}

// body(first, last, type) over the components of the particles of each type. Without a mean force
// the three axes are equivalent, and a loop over components becomes vector instructions.
template <class Body>
void each_type(const SliceOfParticles& slice, Body body) {
  const auto border = 3 * static_cast<std::ptrdiff_t>(slice.cations);
  body(std::ptrdiff_t{0}, border, 0);
  body(border, 3 * static_cast<std::ptrdiff_t>(slice.count), 1);
}

Motion without_mean_force(Motion motion) {
  for (double& force : motion.mean_force)
    force = 0;
  return motion;
}

}  // namespace

bool all_sound(const SliceOfParticles& slice) {
  const float* f = components(slice);
  int unsound = 0;
  for (std::ptrdiff_t k = 0; k < 3 * static_cast<std::ptrdiff_t>(slice.count); ++k)
    unsound |= static_cast<int>(!sound(f[k]));
  return unsound == 0;
}

void kick_all(const SliceOfParticles& slice, const Motion& given) {
  const Motion motion = without_mean_force(given);
  const float* f = components(slice);
  double* v = slice.v;
  each_type(slice, [&, v, f](std::ptrdiff_t first, std::ptrdiff_t last, int type) {
    for (std::ptrdiff_t k = first; k < last; ++k)
      kick(v[k], f[k], motion, type, 0);
  });
}

void kick_and_drift_all(const SliceOfParticles& slice, const Motion& given) {
  kick_all(slice, given);
  const Motion motion = given;
  double* r = slice.r;
  double* v = slice.v;
  const std::ptrdiff_t count = 3 * static_cast<std::ptrdiff_t>(slice.count);
  for (std::ptrdiff_t k = 0; k < count; ++k)
    drift(r[k], v[k], motion);
}

void pack_all(const SliceOfParticles& slice, double inverse_lambda) {
  each(slice, [&](int k, int type) {
    slice.positions[k] = packed(slice.r + 3 * static_cast<std::ptrdiff_t>(k), type, inverse_lambda);
  });
}

void add_forces(const SliceOfParticles& slice, std::int64_t (&sums)[3]) {
  for (int k = 0; k < slice.count; ++k) {
    const Force f = slice.forces[k];
    // An invalid force ends the run; converted to an integer it would be undefined.
    sums[0] += sound(f.x) ? to_quanta(f.x) : 0;
    sums[1] += sound(f.y) ? to_quanta(f.y) : 0;
    sums[2] += sound(f.z) ? to_quanta(f.z) : 0;
  }
}

std::int64_t kick_and_drift_counting(const SliceOfParticles& slice, const Motion& motion) {
  std::int64_t twice_kinetic = 0;
  each(slice, [&](int k, int type) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = 3 * static_cast<std::ptrdiff_t>(k) + axis;
      double& v = slice.v[at];
      kick(v, components(slice)[at], motion, type, axis);
      twice_kinetic += to_quanta(motion.mass[type] * v * v);
      drift(slice.r[at], v, motion);
    }
  });
  return twice_kinetic;
}

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

// Views of the slice; `forces` and `positions` contain all particles or are empty.
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
  if (options_.kind == IntegratorKind::verlet)
    kick_all(particles(forces, {}), motion_);
  else
    kick_and_drift(forces, reducer);
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
  // Other processes may have moved their particles since this one last had the whole system.
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

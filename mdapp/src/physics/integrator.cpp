#include "physics/integrator.h"

#include <algorithm>

#include "physics/overlap.h"
#include "physics/pair.h"
#include "physics/units.h"

namespace gpucast::mdapp {

Motion motion_of(const IntegratorOptions& options, const System& system) {
  const double h = options.dt / time_unit;
  const double kicked = options.kind == IntegratorKind::verlet ? h / 2 : h;
  const double ratio = options.dt / options.relaxation;
  const int degrees = system.n() > 1 ? 3 * system.n() - 3 : 3;
  return {.mass = {system.salt.mass[0], system.salt.mass[1]},
          .kick = {kicked / system.salt.mass[0], kicked / system.salt.mass[1]},
          .inverse_lambda = 1 / decay_length(system.salt),
          .drift = h,
          .half_side = system.boundary.side / 2,
          .periodic = periodic(system.boundary.kind),
          .thermostat_rate = options.kind == IntegratorKind::nose_hoover ? ratio * ratio / 2 : 0,
          .twice_kinetic_target = degrees * system.salt.constants.boltzmann * options.temperature};
}

Integrator::Integrator(const IntegratorOptions& options, System& system, Share share)
    : options_(options), system_(system), share_(share), motion_(motion_of(options, system)) {}

// body(first, last, type) over the share's particles of each type.
template <class Body>
void Integrator::each_type(Body body) {
  const int end = share_.first + share_.count;
  const int border = std::clamp(system_.cations, share_.first, end);
  body(static_cast<std::size_t>(share_.first), static_cast<std::size_t>(border), 0);
  body(static_cast<std::size_t>(border), static_cast<std::size_t>(end), 1);
}

void Integrator::start(std::span<const Force> forces) {
  check(forces);
  forces_ = forces;
}

void Integrator::before_forces(std::span<Position> positions) {
  if (options_.kind == IntegratorKind::verlet) {
    each_type([&](std::size_t first, std::size_t last, int type) {
      for (std::size_t k = first; k < last; ++k) {
        const float f[3] = {forces_[k].x, forces_[k].y, forces_[k].z};
        for (int a = 0; a < 3; ++a) {
          double& v = system_.v[3 * k + static_cast<std::size_t>(a)];
          kick(v, f[a], motion_, type, a);
          drift(system_.r[3 * k + static_cast<std::size_t>(a)], v, motion_);
        }
      }
    });
  }
  pack(system_, share_, positions);
}

void Integrator::after_forces(std::span<const Force> forces, Reducer& reducer) {
  check(forces);
  if (options_.kind == IntegratorKind::nose_hoover) {
    kick_and_drift(forces, reducer);
    return;
  }
  forces_ = forces;
  each_type([&](std::size_t first, std::size_t last, int type) {
    for (std::size_t k = first; k < last; ++k) {
      const float f[3] = {forces[k].x, forces[k].y, forces[k].z};
      for (int a = 0; a < 3; ++a) {
        kick(system_.v[3 * k + static_cast<std::size_t>(a)], f[a], motion_, type, a);
      }
    }
  });
}

void Integrator::kick_and_drift(std::span<const Force> forces, Reducer& reducer) {
  StepSums sums;
  each_type([&](std::size_t first, std::size_t last, int) {
    for (std::size_t k = first; k < last; ++k) {
      sums.force[0] += to_quanta(forces[k].x);
      sums.force[1] += to_quanta(forces[k].y);
      sums.force[2] += to_quanta(forces[k].z);
    }
  });
  reducer.add_up(sums.force);
  Motion motion = with_friction(motion_, friction_);
  for (int a = 0; a < 3; ++a)
    motion.mean_force[a] = from_quanta(sums.force[a]) / system_.n();
  each_type([&](std::size_t first, std::size_t last, int type) {
    const double mass = motion.mass[type];
    for (std::size_t k = first; k < last; ++k) {
      const float f[3] = {forces[k].x, forces[k].y, forces[k].z};
      for (int a = 0; a < 3; ++a) {
        double& v = system_.v[3 * k + static_cast<std::size_t>(a)];
        kick(v, f[a], motion, type, a);
        sums.twice_kinetic += to_quanta(mass * v * v);
        drift(system_.r[3 * k + static_cast<std::size_t>(a)], v, motion_);
      }
    }
  });
  reducer.add_up({&sums.twice_kinetic, 1});
  friction_ = next_friction(friction_, from_quanta(sums.twice_kinetic), motion_);
}

void Integrator::check(std::span<const Force> forces) const {
  bool all_sound = true;
  const std::size_t end =
      static_cast<std::size_t>(share_.first) + static_cast<std::size_t>(share_.count);
  for (std::size_t k = static_cast<std::size_t>(share_.first); k < end; ++k) {
    const bool own = sound(forces[k].x) & sound(forces[k].y) & sound(forces[k].z);
    all_sound &= own;
  }
  if (!all_sound) throw Overlap(describe_overlap(system_));
}

void pack(const System& system, Share share, std::span<Position> positions) {
  const double per_angstrom = 1 / decay_length(system.salt);
  for (int k = share.first; k < share.first + share.count; ++k) {
    positions[static_cast<std::size_t>(k)] =
        packed(&system.r[3 * static_cast<std::size_t>(k)], system.type(k), per_angstrom);
  }
}

}  // namespace gpucast::mdapp

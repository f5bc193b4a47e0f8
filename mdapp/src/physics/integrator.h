// Time integration on the host.
#pragma once

#include <span>

#include "gpucast/support/interface.h"
#include "physics/motion.h"
#include "physics/system.h"

namespace gpucast::mdapp {

// The motion of a slice of the particles on a CPU, which the host computes for all of them, or a
// host device for its own. Compiled without contraction (physics/motion.h).
//
// `count` particles, the first `cations` of them of type 0; arrays start at the slice's first.
struct SliceOfParticles {
  double* r;  // x0 y0 z0 x1 ...
  double* v;
  const Force* forces;
  Position* positions;
  int count;
  int cations;
};

// Whether all forces are finite and no larger than possible between ions.
bool all_sound(const SliceOfParticles& slice);

void kick_all(const SliceOfParticles& slice, const Motion& given);
void kick_and_drift_all(const SliceOfParticles& slice, const Motion& given);
void pack_all(const SliceOfParticles& slice, double inverse_lambda);

// Sums of the forces, and of m v^2 between kick and drift; in quanta (motion.h).
void add_forces(const SliceOfParticles& slice, std::int64_t (&sums)[3]);
std::int64_t kick_and_drift_counting(const SliceOfParticles& slice, const Motion& motion);

struct IntegratorOptions {
  IntegratorKind kind = IntegratorKind::verlet;
  double dt = 2e-15;            // s
  double temperature = 300;     // K, of the thermostat
  double relaxation = 100e-15;  // s, tau
};

// The motion of a step without friction. The thermostat is Claret's, x += (T - T0)/lq h^2/2, with
// lq = T0 tau^2.
Motion motion_of(const IntegratorOptions& options, const System& system);

// Adds sums of slices over processes; does nothing for a single process.
class Reducer : public support::Interface {
 public:
  virtual void add_up(std::span<std::int64_t> /*sums*/) {}
  virtual void add_up(std::span<double> /*sums*/) {}
};

// Moves the particles of one slice. In a Verlet run, the first call of `before_forces` needs the
// initial forces: `start` receives them.
class Integrator {
 public:
  Integrator(const IntegratorOptions& options, System& system, Slice slice);

  // Positions for the devices, of this slice.
  void before_forces(std::span<Position> positions);
  // `forces`: of all particles; only the slice's are read. Throws Overlap for one that is not
  // finite or too large.
  void after_forces(std::span<const Force> forces, Reducer& reducer);
  // Receives the forces before the first step.
  void start(std::span<const Force> forces);

 private:
  SliceOfParticles particles(std::span<const Force> forces, std::span<Position> positions) const;
  void check(std::span<const Force> forces) const;
  void kick_and_drift(std::span<const Force> forces, Reducer& reducer);

  IntegratorOptions options_;
  System& system_;
  Slice slice_;
  Motion motion_;
  double friction_ = 0;
  std::span<const Force> forces_;
  std::span<const Position> positions_;
};

// Writes the slice's positions, in lambda and rounded to float, into `positions` (of all
// particles).
void pack(const System& system, Slice slice, std::span<Position> positions);

// All positions as devices receive them: x0 y0 z0 x1 ..., lambda.
std::vector<double> rounded_positions(const System& system);

}  // namespace gpucast::mdapp

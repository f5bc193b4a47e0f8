#include "physics/integrator.h"

#include <cmath>
#include <functional>
#include <limits>

#include "common.h"
#include "physics/observables.h"

namespace gpucast::mdapp {
namespace {

using test::melt;

const IntegratorOptions verlet{.kind = IntegratorKind::verlet, .dt = 2e-15};
const IntegratorOptions nose_hoover{.kind = IntegratorKind::nose_hoover, .dt = 2e-15};
const double time_step = 2e-15 / time_unit;

using ForceOf = std::function<Force(const Position&)>;

Force none(const Position& /*at*/) { return {}; }
// Towards the centre, 0.5 eV/angstrom a lambda.
Force spring(const Position& at) { return {-0.5F * at.x, -0.5F * at.y, -0.5F * at.z}; }

// A system and the loop around its integrator; each particle's force depends on its position.
class Simulated {
 public:
  Simulated(System start, const IntegratorOptions& options, ForceOf force)
      : system(std::move(start)),
        force_(std::move(force)),
        positions_(system.origin.size()),
        forces_(system.origin.size()),
        integrator_(options, system, {0, system.n()}) {
    pack(system, {0, system.n()}, positions_);
    find_forces();
    integrator_.start(forces_);
  }

  void steps(int count) {
    for (int k = 0; k < count; ++k) {
      integrator_.before_forces(positions_);
      find_forces();
      integrator_.after_forces(forces_, alone_);
    }
  }

  System system;

 private:
  void find_forces() {
    for (std::size_t k = 0; k < positions_.size(); ++k)
      forces_[k] = force_(positions_[k]);
  }

  ForceOf force_;
  std::vector<Position> positions_;
  std::vector<Force> forces_;
  Integrator integrator_;
  Reducer alone_;
};

// A sodium ion at x, moving along x.
System one_ion(const Boundary& boundary, double x, double v) {
  System system = from_positions(nacl(), boundary, {x, 0, 0}, {0});
  system.v = {v, 0, 0};
  return system;
}

const Boundary wide_box{.kind = BoundaryKind::open, .side = 20};
const Boundary wide_cell{.kind = BoundaryKind::minimum_image, .side = 20};

TEST(Walls, TurnVelocitiesAndMoveNothing) {
  for (const IntegratorOptions& options : {verlet, nose_hoover}) {
    for (const double outwards : {1.0, -1.0}) {
      Simulated run(one_ion(wide_box, outwards * 9.9, outwards), options, none);
      run.steps(1);
      EXPECT_DOUBLE_EQ(run.system.r[0], outwards * (9.9 + time_step));
      EXPECT_EQ(run.system.v[0], -outwards);
    }
  }
}

TEST(Walls, LetThoseWhoAreBeyondComeBack) {
  Simulated run(one_ion(wide_box, 10.5, -1), verlet, none);
  run.steps(1);
  EXPECT_DOUBLE_EQ(run.system.r[0], 10.5 - time_step);
  EXPECT_EQ(run.system.v[0], -1);
}

TEST(Walls, StandInEveryDirection) {
  System system = from_positions(nacl(), wide_box, {9.99, -9.99, 0}, {0});
  system.v = {1, -1, 1};
  Simulated run(std::move(system), verlet, none);
  run.steps(1);
  EXPECT_EQ(run.system.v, (std::vector<double>{-1, 1, 1}));
}

TEST(PeriodicCell, ParticlesThatLeaveComeInAgainOnTheOtherSide) {
  for (const double outwards : {1.0, -1.0}) {
    Simulated run(one_ion(wide_cell, outwards * 9.9, outwards), verlet, none);
    run.steps(1);
    EXPECT_NEAR(run.system.r[0], outwards * (9.9 + time_step - 20), 1e-12);
    EXPECT_EQ(run.system.v[0], outwards);
  }
}

TEST(Verlet, AConstantForceGivesHalfATimesTSquared) {
  Simulated run(one_ion(wide_box, 0, 0), verlet, [](const Position&) { return Force{0.5F, 0, 0}; });
  run.steps(10);
  const double acceleration = 0.5 / nacl().mass[0];
  EXPECT_DOUBLE_EQ(run.system.r[0], acceleration * std::pow(10 * time_step, 2) / 2);
  EXPECT_DOUBLE_EQ(run.system.v[0], acceleration * 10 * time_step);
}

// Half as long steps, a quarter of the error.
TEST(Verlet, IsOfSecondOrder) {
  const double lambda = nacl().rho / log2_e;
  const double omega = std::sqrt(0.5 / lambda / nacl().mass[0]);
  const auto error = [&](int steps) {
    IntegratorOptions options = verlet;
    options.dt = 128e-15 / steps;
    Simulated run(one_ion(wide_box, 1, 0), options, spring);
    run.steps(steps);
    return run.system.r[0] - std::cos(omega * 128e-15 / time_unit);
  };
  EXPECT_NEAR(error(64) / error(128), 4, 0.1);
}

TEST(Verlet, RunsBackToWhereItCameFrom) {
  Simulated run(melt(nacl(), 27, {}), verlet, spring);
  const System start = run.system;
  run.steps(200);
  System turned = run.system;
  EXPECT_NE(turned.r, start.r);
  for (double& v : turned.v)
    v = -v;
  Simulated back(std::move(turned), verlet, spring);
  back.steps(200);
  for (std::size_t k = 0; k < start.r.size(); ++k) {
    EXPECT_NEAR(back.system.r[k], start.r[k], 1e-10);
    EXPECT_NEAR(back.system.v[k], -start.v[k], 1e-10);
  }
}

// Without forces a step of friction x turns v into v (1 - x)/(1 + x), and the first step has none.
double speed_after_two_steps(double kelvin) {
  IntegratorOptions options = nose_hoover;
  options.temperature = 300;
  System system = rock_salt(nacl(), 27);
  set_velocities(system, kelvin, 1);
  const double before = std::sqrt(kinetic_energy(system));
  Simulated run(std::move(system), options, none);
  run.steps(1);
  EXPECT_DOUBLE_EQ(std::sqrt(kinetic_energy(run.system)) / before, 1);
  run.steps(1);
  return std::sqrt(kinetic_energy(run.system)) / before;
}

TEST(NoseHoover, BrakesWhatIsTooHotAndDrivesWhatIsTooCold) {
  // tau is 100 fs: x = (T/T0 - 1) (2/100)^2 / 2.
  const auto expected = [](double kelvin) {
    const double x = (kelvin / 300 - 1) * 2e-4;
    return (1 - x) / (1 + x);
  };
  EXPECT_LT(speed_after_two_steps(600), 1);
  EXPECT_GT(speed_after_two_steps(150), 1);
  EXPECT_NEAR(speed_after_two_steps(600), expected(600), 1e-9);
  EXPECT_NEAR(speed_after_two_steps(150), expected(150), 1e-9);
}

TEST(NoseHoover, TakesTheMeanForceFromEach) {
  Simulated run(from_positions(nacl(), wide_box, {0, 0, 0, 3, 0, 0, 0, 3, 0}, {0, 1, 0}),
                nose_hoover, [](const Position& at) { return Force{1 + at.y, 2, -3}; });
  run.steps(1);
  for (const double component : momentum(run.system))
    EXPECT_NEAR(component, 0, 1e-9);
  // A force that is equal for all moves nobody.
  EXPECT_NEAR(run.system.v[1], 0, 1e-9);
  EXPECT_GT(std::abs(run.system.v[0]), 1e-3);
}

TEST(Integrator, RefusesForcesThatAreNotSound) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const IntegratorOptions& options : {verlet, nose_hoover}) {
    for (const float bad : {nan, infinity, -infinity, 1e3F, -2e3F}) {
      bool broken = false;
      Simulated run(melt(nacl(), 27), options,
                    [&](const Position&) { return broken ? Force{0, bad, 0} : Force{}; });
      run.steps(2);
      broken = true;
      EXPECT_THROW(run.steps(1), Overlap) << bad;
    }
  }
}

TEST(Integrator, AcceptsTheLargestForcesBetweenIons) {
  Simulated run(melt(nacl(), 27), verlet, [](const Position&) { return Force{999, -999, 0}; });
  EXPECT_NO_THROW(run.steps(1));
}

TEST(Pack, WritesPositionsInDecayLengthsWithTheirType) {
  const System system = from_positions(nacl(), wide_box, {1, 2, 3, -1, -2, -3}, {1, 0});
  std::vector<Position> positions(2);
  pack(system, {0, 2}, positions);
  const double lambda = 0.317 * std::log(2.0);
  EXPECT_FLOAT_EQ(positions[0].x, static_cast<float>(-1 / lambda));
  EXPECT_EQ(positions[0].type, 0);
  EXPECT_FLOAT_EQ(positions[1].z, static_cast<float>(3 / lambda));
  EXPECT_EQ(positions[1].type, 1);
}

TEST(Pack, WritesOnlyTheSlice) {
  const System system = melt(nacl(), 8);
  std::vector<Position> positions(8);
  pack(system, {3, 2}, positions);
  EXPECT_EQ(positions[2].x, 0);
  EXPECT_NE(positions[3].x, 0);
  EXPECT_NE(positions[4].x, 0);
  EXPECT_EQ(positions[5].x, 0);
}

}  // namespace
}  // namespace gpucast::mdapp

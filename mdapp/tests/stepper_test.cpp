#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "contains.h"
#include "physics/observables.h"
#include "physics/reference.h"
#include "schedules.h"
#include "shaken.h"

namespace gpucast::mdapp {
namespace {

using test::contains;
using test::describe;
using test::melt;

std::unique_ptr<Stepper> stepper_of(Engine& engine, System start, Schedule schedule, int gpus,
                                    const IntegratorOptions& integrator) {
  return make_stepper(engine, std::move(start), integrator, {.name = schedule, .gpus = gpus});
}

TEST(Stepper, TimesEveryStep) {
  const auto engine = host_engine(2);
  for (const Schedule schedule : test::schedules) {
    const auto stepper = stepper_of(*engine, melt(nacl(), 64), schedule, 2, test::integrators[0]);
    const std::vector<double> seconds = stepper->steps(40);
    ASSERT_EQ(seconds.size(), 40U);
    for (const double step : seconds)
      EXPECT_GT(step, 0) << describe(schedule, 2);
  }
}

TEST(Stepper, NoPartOfAStepTakesLessThanNothing) {
  const auto engine = host_engine(3);
  for (const IntegratorOptions& integrator : test::integrators) {
    for (const Schedule schedule : test::schedules) {
      const auto stepper = stepper_of(*engine, melt(nacl(), 64), schedule, 3, integrator);
      for (int k = 0; k < 5; ++k) {
        const Phases parts = stepper->step_in_phases();
        for (const double part : {parts.h2d, parts.d2h, parts.cpu, parts.exchange})
          EXPECT_GE(part, 0) << describe(schedule, 3);
        EXPECT_GT(parts.kernel, 0) << describe(schedule, 3);
      }
    }
  }
}

TEST(Stepper, PartsAreThoseOfTheSchedule) {
  const auto engine = host_engine(2);
  for (const Schedule schedule : test::schedules) {
    const auto stepper = stepper_of(*engine, melt(nacl(), 64), schedule, 2, test::integrators[0]);
    const Phases parts = stepper->step_in_phases();
    const bool on_the_host = schedule != Schedule::allgather;
    EXPECT_EQ(parts.h2d > 0, on_the_host) << describe(schedule, 2);
    EXPECT_EQ(parts.d2h > 0, on_the_host) << describe(schedule, 2);
    EXPECT_EQ(parts.cpu > 0, on_the_host) << describe(schedule, 2);
    EXPECT_EQ(parts.exchange > 0, !on_the_host) << describe(schedule, 2);
  }
}

TEST(Stepper, EnergiesAreThoseOfWhereTheParticlesAre) {
  const auto engine = host_engine(2);
  for (const IntegratorOptions& integrator : test::integrators) {
    for (const Schedule schedule : test::schedules) {
      const System start = melt(nacl(), 61, {.kind = BoundaryKind::dsf});
      const auto stepper = stepper_of(*engine, start, schedule, 2, integrator);
      stepper->steps(5);
      const Potential found = stepper->potential();
      const Potential wanted = reference_forces_at_float(stepper->system()).potential;
      EXPECT_NEAR(found.energy, wanted.energy, 1e-6 * std::abs(wanted.energy));
      EXPECT_NEAR(found.virial, wanted.virial, 1e-5 * std::abs(wanted.energy));
    }
  }
}

// Two ions of the melt put upon one another: a force far beyond any between ions.
System overlapping(int n) {
  System system = melt(nacl(), n);
  for (std::size_t a = 0; a < 3; ++a)
    system.r[60 + a] = system.r[12 + a] + (a == 0 ? 0.1 : 0);  // particles 20 and 4
  return system;
}

TEST(Stepper, EveryScheduleRefusesOverlappingParticlesAndNamesThem) {
  const System start = overlapping(61);
  const std::string pair = "particles " + std::to_string(start.origin[4] + 1) + " (Na) and " +
                           std::to_string(start.origin[20] + 1) + " (Na) overlap: 0.1 ";
  for (const IntegratorOptions& integrator : test::integrators) {
    for (const Schedule schedule : test::schedules) {
      for (const int gpus : {1, 4}) {
        const auto engine = host_engine(gpus);
        try {
          stepper_of(*engine, start, schedule, gpus, integrator)->steps(3);
          ADD_FAILURE() << "not refused: " << describe(schedule, gpus);
        } catch (const Overlap& overlap) {
          EXPECT_TRUE(contains(overlap.what(), pair)) << describe(schedule, gpus);
        }
      }
    }
  }
}

// Two ions at one place: their forces are not numbers.
TEST(Stepper, EveryScheduleRefusesParticlesAtOnePlace) {
  System start = melt(nacl(), 61);
  std::copy_n(start.r.begin(), 3, start.r.begin() + 3 * 40L);
  for (const IntegratorOptions& integrator : test::integrators) {
    for (const Schedule schedule : test::schedules) {
      const auto engine = host_engine(2);
      EXPECT_THROW(stepper_of(*engine, start, schedule, 2, integrator)->steps(1), Overlap)
          << describe(schedule, 2);
    }
  }
}

// Chloride ions shot at one another get behind the repulsive wall after some steps.
TEST(Stepper, EveryScheduleSeesAnOverlapThatComesLater) {
  System start = from_positions(nacl(), {.side = 100}, {-3, 0, 0, 3, 0, 0, 0, 40, 0}, {1, 1, 0});
  start.v = {0, 0, 0, 1.5, 0, 0, -1.5, 0, 0};
  for (const Schedule schedule : test::schedules) {
    const auto engine = host_engine(2);
    const auto stepper = stepper_of(*engine, start, schedule, 2, test::integrators[0]);
    EXPECT_NO_THROW(stepper->steps(2)) << describe(schedule, 2);
    EXPECT_THROW(stepper->steps(30), Overlap) << describe(schedule, 2);
  }
}

TEST(Stepper, TheHostHasNoGraphs) {
  const auto engine = host_engine(1);
  for (const Schedule schedule : test::schedules) {
    EXPECT_THROW(make_stepper(*engine, melt(nacl(), 8), test::integrators[0],
                              {.name = schedule, .graph = true}),
                 std::invalid_argument)
        << describe(schedule, 1);
  }
}

TEST(Stepper, ASingleParticleFliesOn) {
  System start = rock_salt(nacl(), 1);
  start.v = {0.1, 0, 0};
  for (const Schedule schedule : test::schedules) {
    const auto engine = host_engine(1);
    const auto stepper = stepper_of(*engine, start, schedule, 1, test::integrators[0]);
    stepper->steps(10);
    EXPECT_EQ(stepper->system().v, start.v) << describe(schedule, 1);
    EXPECT_EQ(stepper->potential().energy, 0) << describe(schedule, 1);
  }
}

}  // namespace
}  // namespace gpucast::mdapp

// Particles take the same way, bit for bit, whatever computes the steps.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedules.h"
#include "shaken.h"

namespace gpucast::mdapp {
namespace {

using test::describe;
using test::melt;

struct Trajectory {
  std::vector<double> r;
  std::vector<double> v;
  bool operator==(const Trajectory&) const = default;
};

Trajectory where(Stepper& stepper) {
  const System& system = stepper.system();
  return {.r = system.r, .v = system.v};
}

struct Case {
  System start;
  IntegratorOptions integrator;
  KernelName kernel = KernelName::tuned;
};

// advance(stepper) makes the steps.
template <class Advance>
Trajectory trajectory(const Case& run, Schedule schedule, int gpus, Advance advance) {
  const auto engine = host_engine(gpus);
  const auto stepper =
      make_stepper(*engine, run.start, run.integrator,
                   {.name = schedule, .gpus = gpus, .kernel = {.name = run.kernel}});
  advance(*stepper);
  return where(*stepper);
}

Trajectory twenty_steps(const Case& run, Schedule schedule, int gpus) {
  return trajectory(run, schedule, gpus, [](Stepper& stepper) { stepper.steps(20); });
}

// On every schedule and number of devices as on one device with star-serial.
void expect_one_trajectory(const Case& run) {
  const Trajectory wanted = twenty_steps(run, Schedule::star_serial, 1);
  EXPECT_NE(wanted.r, run.start.r);
  for (const Schedule schedule : test::schedules) {
    for (int gpus = 1; gpus <= 4; ++gpus) {
      EXPECT_TRUE(twenty_steps(run, schedule, gpus) == wanted)
          << describe(schedule, gpus) << ", " << describe(run.integrator.kind);
    }
  }
}

TEST(Trajectory, IsTheSameInEverySchedule) {
  for (const IntegratorOptions& integrator : test::integrators)
    expect_one_trajectory({.start = melt(nacl(), 216), .integrator = integrator});
}

TEST(Trajectory, IsTheSameWhereSlicesAreUneven) {
  for (const IntegratorOptions& integrator : test::integrators)
    expect_one_trajectory({.start = melt(kcl(), 211), .integrator = integrator});
}

TEST(Trajectory, IsTheSameInAPeriodicCell) {
  for (const IntegratorOptions& integrator : test::integrators) {
    expect_one_trajectory(
        {.start = melt(nacl(), 64, {.kind = BoundaryKind::dsf}), .integrator = integrator});
  }
}

TEST(Trajectory, IsTheSameWithTheKernelClaret) {
  for (const IntegratorOptions& integrator : test::integrators) {
    expect_one_trajectory(
        {.start = melt(nacl(), 61), .integrator = integrator, .kernel = KernelName::claret});
  }
}

TEST(Trajectory, IsTheSameWithMoreDevicesThanParticles) {
  for (const IntegratorOptions& integrator : test::integrators)
    expect_one_trajectory({.start = melt(nacl(), 3), .integrator = integrator});
}

TEST(Trajectory, IsTheSameInManySmallRunsAsInOne) {
  for (const IntegratorOptions& integrator : test::integrators) {
    const Case run{.start = melt(nacl(), 61), .integrator = integrator};
    const Trajectory wanted =
        trajectory(run, Schedule::star_serial, 1, [](Stepper& stepper) { stepper.steps(70); });
    for (const Schedule schedule : test::schedules) {
      const Trajectory found = trajectory(run, schedule, 2, [](Stepper& stepper) {
        for (const int count : {1, 0, 2, 35, 32})
          EXPECT_EQ(stepper.steps(count).size(), static_cast<std::size_t>(count));
      });
      EXPECT_TRUE(found == wanted) << describe(schedule, 2);
    }
  }
}

TEST(Trajectory, DoesNotChangeWhenEnergiesAreLookedAt) {
  for (const IntegratorOptions& integrator : test::integrators) {
    const Case run{.start = melt(nacl(), 61), .integrator = integrator};
    for (const Schedule schedule : test::schedules) {
      const Trajectory found = trajectory(run, schedule, 3, [](Stepper& stepper) {
        stepper.potential();
        for (int k = 0; k < 10; ++k) {
          stepper.steps(2);
          const double energy = stepper.potential().energy;
          EXPECT_EQ(stepper.potential().energy, energy);
          stepper.system();
        }
      });
      EXPECT_TRUE(found == twenty_steps(run, schedule, 3)) << describe(schedule, 3);
    }
  }
}

TEST(Trajectory, DoesNotChangeWhenPartsAreTimed) {
  for (const IntegratorOptions& integrator : test::integrators) {
    const Case run{.start = melt(nacl(), 61), .integrator = integrator};
    for (const Schedule schedule : test::schedules) {
      const Trajectory found = trajectory(run, schedule, 3, [](Stepper& stepper) {
        for (int k = 0; k < 5; ++k) {
          stepper.steps(3);
          stepper.step_in_phases();
        }
      });
      EXPECT_TRUE(found == twenty_steps(run, schedule, 3)) << describe(schedule, 3);
    }
  }
}

}  // namespace
}  // namespace gpucast::mdapp

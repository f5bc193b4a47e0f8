// Particles move on bitwise the same paths, whatever computes the steps.

#include "common.h"

namespace gpucast::mdapp {
namespace {

using test::melt;

// Positions and velocities after advance(stepper).
using Trajectory = std::pair<std::vector<double>, std::vector<double>>;

template <class Advance>
Trajectory trajectory(const System& start, const IntegratorOptions& integrator, Schedule schedule,
                      int gpus, Advance advance, KernelName kernel = KernelName::tuned) {
  const auto engine = host_engine(gpus);
  const auto stepper = make_stepper(*engine, start, integrator,
                                    {.name = schedule, .gpus = gpus, .kernel = {.name = kernel}});
  advance(*stepper);
  const System& system = stepper->system();
  return {system.r, system.v};
}

void twenty_steps(Stepper& stepper) { stepper.steps(20); }

// Compares every schedule and number of devices with one device under star-serial.
void expect_one_trajectory(const System& start, KernelName kernel = KernelName::tuned) {
  test::each_way([&](const IntegratorOptions& integrator, Schedule schedule) {
    const Trajectory expected =
        trajectory(start, integrator, Schedule::star_serial, 1, twenty_steps, kernel);
    EXPECT_NE(expected.first, start.r);
    for (int gpus = 1; gpus <= 4; ++gpus) {
      EXPECT_TRUE(trajectory(start, integrator, schedule, gpus, twenty_steps, kernel) == expected)
          << gpus;
    }
  });
}

TEST(Trajectory, IsTheSameInEverySchedule) { expect_one_trajectory(melt(nacl(), 216)); }

TEST(Trajectory, IsTheSameWhereSlicesAreUneven) { expect_one_trajectory(melt(kcl(), 211)); }

TEST(Trajectory, IsTheSameInAPeriodicCell) {
  expect_one_trajectory(melt(nacl(), 64, {.kind = BoundaryKind::dsf}));
}

TEST(Trajectory, IsTheSameWithTheKernelClaret) {
  expect_one_trajectory(melt(nacl(), 61), KernelName::claret);
}

TEST(Trajectory, IsTheSameWithMoreDevicesThanParticles) { expect_one_trajectory(melt(nacl(), 3)); }

// Compares with steps(count) alone, on a schedule's three devices.
template <class Advance>
void expect_no_change(int count, Advance advance) {
  const System start = melt(nacl(), 61);
  test::each_way([&](const IntegratorOptions& integrator, Schedule schedule) {
    const auto steps_alone = [&](Stepper& stepper) { stepper.steps(count); };
    EXPECT_TRUE(trajectory(start, integrator, schedule, 3, advance) ==
                trajectory(start, integrator, schedule, 3, steps_alone));
  });
}

TEST(Trajectory, IsTheSameInManySmallRunsAsInOne) {
  expect_no_change(70, [](Stepper& stepper) {
    for (const int count : {1, 0, 2, 35, 32})
      EXPECT_EQ(stepper.steps(count).size(), static_cast<std::size_t>(count));
  });
}

TEST(Trajectory, DoesNotChangeWhenEnergiesAreLookedAt) {
  expect_no_change(20, [](Stepper& stepper) {
    stepper.potential();
    for (int k = 0; k < 10; ++k) {
      stepper.steps(2);
      const double energy = stepper.potential().energy;
      EXPECT_EQ(stepper.potential().energy, energy);
      stepper.system();
    }
  });
}

TEST(Trajectory, DoesNotChangeWhenPartsAreTimed) {
  expect_no_change(20, [](Stepper& stepper) {
    for (int k = 0; k < 5; ++k) {
      stepper.steps(3);
      stepper.step_in_phases();
    }
  });
}

}  // namespace
}  // namespace gpucast::mdapp

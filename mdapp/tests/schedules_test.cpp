// Steps on the host engine: whoever computes and whoever moves, the trajectory is one.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "contains.h"
#include "engine/engine.h"
#include "physics/overlap.h"
#include "physics/start.h"
#include "physics/units.h"
#include "schedule/stepper.h"

namespace gpucast::mdapp {
namespace {

constexpr ScheduleName in_one_process[] = {ScheduleName::star_serial, ScheduleName::star_async,
                                           ScheduleName::allgather};
constexpr IntegratorKind integrators[] = {IntegratorKind::verlet, IntegratorKind::nose_hoover};

System warm(int n, BoundaryKind kind = BoundaryKind::open) {
  System system = rock_salt(nacl(), n, {.kind = kind});
  set_velocities(system, 1100, 1);
  return system;
}

std::unique_ptr<Stepper> stepper(Engine& engine, const System& system, IntegratorKind integrator,
                                 ScheduleName schedule, int gpus,
                                 KernelName kernel = KernelName::tuned) {
  return make_stepper(engine, system, {.kind = integrator},
                      {.name = schedule, .gpus = gpus, .kernel = {.name = kernel}});
}

TEST(Schedules, GiveOneTrajectoryWhateverTheNumberOfDevices) {
  const auto engine = host_engine(4);
  for (const BoundaryKind kind : {BoundaryKind::open, BoundaryKind::dsf}) {
    for (const int n : {61, 64}) {
      const System start = warm(n, kind);
      for (const IntegratorKind integrator : integrators) {
        std::vector<double> r;
        std::vector<double> v;
        for (const ScheduleName schedule : in_one_process) {
          for (int gpus = 1; gpus <= 4; ++gpus) {
            const auto run = stepper(*engine, start, integrator, schedule, gpus);
            EXPECT_EQ(run->steps(40).size(), 40U);
            const System& end = run->system();
            if (r.empty()) {
              r = end.r;
              v = end.v;
              EXPECT_NE(r, start.r);
            }
            const std::string where = std::string(name(schedule)) + " on " + std::to_string(gpus);
            EXPECT_EQ(end.r, r) << where;
            EXPECT_EQ(end.v, v) << where;
          }
        }
      }
    }
  }
}

TEST(Schedules, GoOnAsBeforeAfterALookAtEnergiesAndParts) {
  const auto engine = host_engine(2);
  for (const IntegratorKind integrator : integrators) {
    for (const ScheduleName schedule : in_one_process) {
      const auto undisturbed = stepper(*engine, warm(64), integrator, schedule, 2);
      undisturbed->steps(20);
      const auto disturbed = stepper(*engine, warm(64), integrator, schedule, 2);
      disturbed->steps(9);
      disturbed->potential();
      const Phases phases = disturbed->step_in_parts();
      EXPECT_GT(phases.kernel, 0);
      disturbed->system();
      disturbed->steps(10);
      EXPECT_EQ(disturbed->system().r, undisturbed->system().r) << name(schedule);
    }
  }
}

TEST(Schedules, SendWhatThePaperCountsInEachStep) {
  const auto engine = host_engine(3);
  constexpr int n = 61;
  for (const ScheduleName schedule : {ScheduleName::star_serial, ScheduleName::star_async}) {
    const auto run = stepper(*engine, warm(n), IntegratorKind::verlet, schedule, 3);
    const auto before = run->traffic();
    run->steps(5);
    const auto after = run->traffic();
    ASSERT_EQ(after.size(), 3U);
    std::int64_t back = 0;
    for (std::size_t g = 0; g < 3; ++g) {
      EXPECT_EQ(after[g].h2d - before[g].h2d, 5 * 16 * n);
      EXPECT_EQ(after[g].exchange, 0);
      back += after[g].d2h - before[g].d2h;
    }
    EXPECT_EQ(back, 5 * 12 * n);
  }
  const auto run = stepper(*engine, warm(n), IntegratorKind::verlet, ScheduleName::allgather, 3);
  const auto before = run->traffic();
  run->steps(5);
  const auto after = run->traffic();
  for (std::size_t g = 0; g < 3; ++g) {
    EXPECT_EQ(after[g].h2d, before[g].h2d);
    EXPECT_EQ(after[g].d2h, before[g].d2h);
    const Share share = share_of(n, 3, static_cast<int>(g));
    EXPECT_EQ(after[g].exchange - before[g].exchange, 5 * 16 * (n - share.count));
  }
}

TEST(Schedules, WorkWithMoreDevicesThanParticles) {
  const auto engine = host_engine(4);
  for (const IntegratorKind integrator : integrators) {
    const auto alone = stepper(*engine, warm(2), integrator, ScheduleName::star_serial, 1);
    alone->steps(5);
    for (const ScheduleName schedule : in_one_process) {
      const auto run = stepper(*engine, warm(2), integrator, schedule, 4);
      run->steps(5);
      EXPECT_EQ(run->system().r, alone->system().r) << name(schedule);
    }
  }
}

TEST(Schedules, NameThePairThatOverlaps) {
  const auto engine = host_engine(2);
  for (const IntegratorKind integrator : integrators) {
    for (const ScheduleName schedule : in_one_process) {
      for (const KernelName kernel : {KernelName::claret, KernelName::tuned}) {
        System system = warm(64);
        // Beside the lattice, particle 40 is thrown at particle 5 of another device, and 0.3
        // angstrom away from it after one step.
        const double h = 2e-15 / time_unit;
        const std::size_t five = 3 * std::size_t{5};
        const std::size_t forty = 3 * std::size_t{40};
        for (const std::size_t first : {five, forty}) {
          for (std::size_t a = 0; a < 3; ++a)
            system.r[first + a] = system.v[first + a] = 0;
        }
        system.r[five] = 20;
        system.r[forty] = 22;
        system.v[forty] = -1.7 / h;
        try {
          const auto run = stepper(*engine, system, integrator, schedule, 2, kernel);
          run->steps(10);
          ADD_FAILURE() << "not noticed by " << name(schedule);
        } catch (const Overlap& overlap) {
          const std::string one = std::to_string(system.origin[5] + 1) + " (Na)";
          const std::string other = std::to_string(system.origin[40] + 1) + " (Cl)";
          EXPECT_TRUE(test::contains(overlap.what(), one)) << name(schedule);
          EXPECT_TRUE(test::contains(overlap.what(), other)) << name(schedule);
        }
      }
    }
  }
}

TEST(Schedules, RefuseGraphsOnTheHost) {
  const auto engine = host_engine(1);
  for (const ScheduleName schedule : in_one_process) {
    EXPECT_THROW(
        make_stepper(*engine, warm(8), {}, {.name = schedule, .graph = true, .kernel = {}}),
        std::invalid_argument);
  }
}

}  // namespace
}  // namespace gpucast::mdapp

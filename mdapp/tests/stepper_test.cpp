
#include <algorithm>
#include <cmath>

#include "common.h"
#include "failing_engine.h"
#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

using test::contains;
using test::each_way;
using test::melt;

std::unique_ptr<Stepper> stepper_of(Engine& engine, System start, Schedule schedule, int gpus,
                                    const IntegratorOptions& integrator = test::integrators[0]) {
  return make_stepper(engine, std::move(start), integrator, {.name = schedule, .gpus = gpus});
}

TEST(Stepper, TimesEveryStepAndTheParts) {
  each_way([](const IntegratorOptions& integrator, Schedule schedule) {
    const auto engine = host_engine(3);
    const auto stepper = stepper_of(*engine, melt(nacl(), 64), schedule, 3, integrator);
    const std::vector<double> seconds = stepper->steps(40);
    ASSERT_EQ(seconds.size(), 40U);
    for (const double step : seconds)
      EXPECT_GT(step, 0);
    for (int k = 0; k < 5; ++k) {
      const Phases parts = stepper->step_in_phases();
      const bool on_the_host = schedule != Schedule::allgather;
      EXPECT_GT(parts.kernel, 0);
      for (const double part : {parts.h2d, parts.d2h, parts.cpu, parts.exchange})
        EXPECT_GE(part, 0);
      for (const double part : {parts.h2d, parts.d2h, parts.cpu})
        EXPECT_EQ(part > 0, on_the_host);
      EXPECT_EQ(parts.exchange > 0, !on_the_host);
    }
  });
}

TEST(Stepper, EnergiesAreThoseOfWhereTheParticlesAre) {
  each_way([](const IntegratorOptions& integrator, Schedule schedule) {
    const auto engine = host_engine(2);
    const System start = melt(nacl(), 61, {.kind = BoundaryKind::dsf});
    const auto stepper = stepper_of(*engine, start, schedule, 2, integrator);
    stepper->steps(5);
    const Potential computed = stepper->potential();
    const Potential expected = reference_forces_at_float(stepper->system()).potential;
    EXPECT_NEAR(computed.energy, expected.energy, 1e-6 * std::abs(expected.energy));
    EXPECT_NEAR(computed.virial, expected.virial, 1e-5 * std::abs(expected.energy));
  });
}

// Two ions of the melt are moved onto one another: the force is far beyond any between ions or, at
// the same place, NaN.
TEST(Stepper, EveryScheduleRefusesOverlappingParticlesAndNamesThem) {
  for (const double apart : {0.1, 0.0}) {
    System start = melt(nacl(), 61);
    for (std::size_t a = 0; a < 3; ++a)
      start.r[60 + a] = start.r[12 + a] + (a == 0 ? apart : 0);  // particles 20 and 4
    const std::string pair = "particles " + std::to_string(start.origin[4] + 1) + " (Na) and " +
                             std::to_string(start.origin[20] + 1) + " (Na) overlap: ";
    each_way([&](const IntegratorOptions& integrator, Schedule schedule) {
      for (const int gpus : {1, 4}) {
        const auto engine = host_engine(gpus);
        try {
          stepper_of(*engine, start, schedule, gpus, integrator)->steps(3);
          ADD_FAILURE() << "not refused on " << gpus;
        } catch (const Overlap& overlap) {
          EXPECT_TRUE(contains(overlap.what(), pair)) << gpus;
        }
      }
    });
  }
}

// Chloride ions that are shot at one another get behind the repulsive wall after some steps.
TEST(Stepper, EveryScheduleSeesAnOverlapThatComesLater) {
  System start = from_positions(nacl(), {.side = 100}, {-3, 0, 0, 3, 0, 0, 0, 40, 0}, {1, 1, 0});
  start.v = {0, 0, 0, 1.5, 0, 0, -1.5, 0, 0};
  for (const Schedule schedule : test::schedules) {
    const auto engine = host_engine(2);
    const auto stepper = stepper_of(*engine, start, schedule, 2);
    EXPECT_NO_THROW(stepper->steps(2)) << name(schedule);
    EXPECT_THROW(stepper->steps(30), Overlap) << name(schedule);
  }
}

TEST(Stepper, TheHostHasNoGraphs) {
  const auto engine = host_engine(1);
  for (const Schedule schedule : test::schedules) {
    EXPECT_THROW(make_stepper(*engine, melt(nacl(), 8), {}, {.name = schedule, .graph = true}),
                 std::invalid_argument)
        << name(schedule);
  }
}

TEST(Stepper, ASingleParticleFliesOn) {
  System start = rock_salt(nacl(), 1);
  start.v = {0.1, 0, 0};
  for (const Schedule schedule : test::schedules) {
    const auto engine = host_engine(1);
    const auto stepper = stepper_of(*engine, start, schedule, 1);
    stepper->steps(10);
    EXPECT_EQ(stepper->system().v, start.v) << name(schedule);
    EXPECT_EQ(stepper->potential().energy, 0) << name(schedule);
  }
}

// Bytes of one step by device, as counted by the copies.
std::vector<Traffic> bytes_a_step(const IntegratorOptions& integrator, Schedule schedule, int n,
                                  int gpus) {
  const auto engine = host_engine(gpus);
  const auto stepper = stepper_of(*engine, melt(nacl(), n), schedule, gpus, integrator);
  stepper->steps(1);
  const std::vector<Traffic> before = stepper->traffic();
  stepper->steps(1);
  std::vector<Traffic> bytes = stepper->traffic();
  std::ranges::transform(
      bytes, before, bytes.begin(),
      [](const Traffic& after, const Traffic& earlier) { return after - earlier; });
  return bytes;
}

// Stars send all positions to each device and get each force once; all-gather brings each device
// the positions of the others.
TEST(Traffic, IsThatOfTheSchedule) {
  each_way([](const IntegratorOptions& integrator, Schedule schedule) {
    const bool star = schedule != Schedule::allgather;
    for (int gpus = 1; gpus <= 4; ++gpus) {
      for (const int n : {101, 64, 3}) {
        const auto devices = bytes_a_step(integrator, schedule, n, gpus);
        std::int64_t back = 0;
        for (int g = 0; g < gpus; ++g) {
          const Traffic& bytes = devices[static_cast<std::size_t>(g)];
          EXPECT_EQ(bytes.h2d, star ? 16 * n : 0) << gpus << " " << n;
          EXPECT_EQ(bytes.exchange, star ? 0 : 16 * (n - slice_of(n, gpus, g).count));
          back += bytes.d2h;
        }
        EXPECT_EQ(back, star ? 12 * n : 0) << gpus << " " << n;
      }
    }
  });
}

// All calls of a run to a stepper, with devices that fail after `operations`.
void run_until_failure(Schedule schedule, const IntegratorOptions& integrator, int operations) {
  test::FailingEngine engine(3, operations);
  const auto stepper = stepper_of(engine, melt(nacl(), 10), schedule, 3, integrator);
  stepper->steps(2);
  stepper->step_in_phases();
  stepper->potential();
  stepper->system();
}

// Number of operations of a complete run.
int operations_needed(Schedule schedule, const IntegratorOptions& integrator) {
  for (int operations = 0;; ++operations) {
    try {
      run_until_failure(schedule, integrator, operations);
      return operations;
    } catch (const DeviceError& error) {
      EXPECT_STREQ(error.what(), "device 0: out of order");
    }
  }
}

// Wherever in a run a device fails, the run ends with its error: it neither hangs nor continues.
TEST(DeviceFailure, ComesThroughTheStepperFromAnyOperation) {
  each_way([](const IntegratorOptions& integrator, Schedule schedule) {
    EXPECT_GT(operations_needed(schedule, integrator), 30);
  });
}

}  // namespace
}  // namespace gpucast::mdapp
